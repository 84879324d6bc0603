// SPDX-License-Identifier: Apache-2.0
//
// Selects the network devices that carry the data plane.
#ifndef COPSE_DAEMON_NET_DEVICES_H_
#define COPSE_DAEMON_NET_DEVICES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/data_address.h"

namespace copse::daemon {

struct DataNetwork {
  std::string data_listen;                    // an address of a local interface; 0.0.0.0: all of them
  std::vector<std::string> net_devices = {};  // in UCX's names; empty: those that have the address
  bool insecure = false;
};

// Returns the devices in UCX's format, separated by commas; "" lets UCX choose. Errors: UNAVAILABLE if no interface has
// the address data_listen, which may change; INVALID_ARGUMENT if data_listen is no address, or if data would leave this
// machine without `insecure`.
absl::StatusOr<std::string> ChooseNetDevices(const DataNetwork& network,
                                             const std::vector<InterfaceAddress>& interfaces);

// Returns UCX's transports for these devices in UCX_TLS's format: TCP, or verbs for devices with UCX's names for
// InfiniBand and RoCE (mlx5_0:1). `ucx_tls` is the environment's UCX_TLS, or null; if it is not empty, it decides, and
// "" is returned.
std::string ChooseTransports(const char* ucx_tls, const std::string& net_devices);

// TransportWishes are what the configuration says about the data network.
struct TransportWishes {
  std::string transport = "auto";  // auto, ucx, tcp
  DataNetwork network;
  bool has_identity = false;   // tls_cert and its companions are given
  bool trust_network = false;  // UCX may run over IP although the daemon has an identity
};
struct TransportChoice {
  bool uses_tcp = false;    // Copse's own TCP; else UCX
  std::string net_devices;  // in UCX's format
  std::string ucx_tls;      // in UCX's format; "": UCX's environment decides
  std::string tcp_address;  // HOST:0, numeric
};
// Chooses the transport: `auto` takes tcp where an identity is configured and UCX would run over IP. `ucx_tls` is as
// for ChooseTransports. Errors: those of ChooseNetDevices, which lets tcp leave this machine; INVALID_ARGUMENT if tcp
// lacks an identity or an address of its own, or if ucx would let strangers reach a daemon that has an identity.
absl::StatusOr<TransportChoice> ChooseTransport(const TransportWishes& wishes, const char* ucx_tls,
                                                const std::vector<InterfaceAddress>& interfaces);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_NET_DEVICES_H_
