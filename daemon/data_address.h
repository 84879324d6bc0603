// SPDX-License-Identifier: Apache-2.0
//
// Finds this machine's address on the network for data: one configuration file can serve all nodes.
#ifndef COPSE_DAEMON_DATA_ADDRESS_H_
#define COPSE_DAEMON_DATA_ADDRESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace copse::daemon {

// An InterfaceAddress is one address of a network interface of this machine.
struct InterfaceAddress {
  std::string name;
  std::string address;  // numeric
  bool loopback = false;
};
// Returns all IPv4 and IPv6 addresses; none if the system does not list them.
std::vector<InterfaceAddress> InterfaceAddresses();

// Returns the numeric address that `data_listen` means: an address or `localhost` itself; of an interface (eth0) its
// first IPv4 address, else its first IPv6 one that is not link-local; of a network (10.1.0.0/16) the first address in
// it. Errors name the key: UNAVAILABLE if this machine has none, which may change; INVALID_ARGUMENT for other texts,
// and if several interfaces have addresses in the network.
absl::StatusOr<std::string> FindDataAddress(const std::string& data_listen,
                                            const std::vector<InterfaceAddress>& interfaces);

// Returns the smallest MTU of these devices, which are separated by commas, in bytes; 0 if none is known, as of verbs.
uint64_t LeastMtu(const std::string& net_devices);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_DATA_ADDRESS_H_
