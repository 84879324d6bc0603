// SPDX-License-Identifier: Apache-2.0
//
// Opens the network for data that the settings name, and watches it for the loop.
#ifndef COPSE_DAEMON_DATA_TRANSPORT_H_
#define COPSE_DAEMON_DATA_TRANSPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/ids.h"
#include "daemon/data_identity.h"
#include "daemon/loop/mailbox.h"
#include "daemon/loop/poller.h"
#include "daemon/loop/worker.h"
#include "daemon/settings.h"
#include "offload_emu/tcp/tcp_transport.h"
#include "offload_emu/transport.h"

namespace copse::daemon {

// DataTransportParts are the parts of the daemon that a DataTransport uses. All must outlive it.
struct DataTransportParts {
  const Clock* clock = nullptr;
  Poller* poller = nullptr;
  Worker* worker = nullptr;
  Mailbox* mailbox = nullptr;
};

// A DataTransport is the transport over UCX or TCP. All calls come from the loop's thread.
class DataTransport {
 public:
  // Errors: those of the transports, and of the certificate files.
  static absl::StatusOr<std::unique_ptr<DataTransport>> Open(const DataTransportParts& parts, const Settings& settings,
                                                             Incarnation self);
  DataTransport(const DataTransport&) = delete;
  DataTransport& operator=(const DataTransport&) = delete;

  emu::PolledTransport* transport() { return transport_.get(); }
  // Prepares for the loop's sleep, and returns whether nothing has happened meanwhile. Errors are logged: without a
  // wake-up, the bounded sleep finds arrivals.
  bool Arm();
  // Reads the certificate files again, if there are any.
  void RereadIdentity();
  void AppendCounters(std::map<std::string, uint64_t>* counters) const;

 private:
  DataTransport(Poller* poller, uint64_t mtu_bytes) : poller_(poller), mtu_bytes_(mtu_bytes) {}
  absl::Status OpenTcp(const DataTransportParts& parts, const Settings& settings, Incarnation self);
  // Watches the transport's descriptor, which there is from its Open on.
  absl::Status Watch();

  Poller* const poller_;
  const uint64_t mtu_bytes_;                // of the network devices
  std::unique_ptr<DataIdentity> identity_;  // null: not over TCP
  std::unique_ptr<emu::PolledTransport> transport_;
  emu::TcpTransport* tcp_ = nullptr;  // transport_, or null
  int watched_ = -1;                  // the descriptor that the poller watches; -1: none
  uint64_t wakes_ = 0;                // how often the network has woken the loop
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_DATA_TRANSPORT_H_
