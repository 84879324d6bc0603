// SPDX-License-Identifier: Apache-2.0
//
// The daemon's own admin service: NodeAdminService, which works while the planner is down.
#ifndef COPSE_DAEMON_RPC_ADMIN_SERVER_H_
#define COPSE_DAEMON_RPC_ADMIN_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/loop/mailbox.h"
#include "protocol/control.h"

namespace copse::daemon {

struct NodeStatus {
  schedule::DaemonStatus daemon;
  std::string planner;  // address of the planner
  bool planner_connected = false;
  std::string planner_refusal;
};

struct AdminServerOptions {
  std::string listen;  // HOST:PORT; port 0: any
  bool insecure = false;
};

// Serves from construction until Stop. Created and stopped on the loop's thread; `status` runs there too, through the
// mailbox, so a stuck loop shows as a missing answer. It runs at most once per turn of the loop: any user may ask,
// and clients' calls must not wait for it. Beyond kStatusesMax waiting callers are refused (RESOURCE_EXHAUSTED).
class AdminServer {
 public:
  static constexpr size_t kStatusesMax = 64;  // callers that wait for their answer

  // INVALID_ARGUMENT: beyond loopback without `insecure`. UNAVAILABLE: cannot listen there. The pointees must outlive
  // it.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(const AdminServerOptions& options, Mailbox* mailbox,
                                                            std::function<NodeStatus()> status);
  ~AdminServer();

  // Returns HOST:PORT with the actual port.
  const std::string& address() const;
  // Answers the pending calls and ends. Idempotent.
  void Stop();

 private:
  class Impl;
  explicit AdminServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_ADMIN_SERVER_H_
