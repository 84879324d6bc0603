// SPDX-License-Identifier: Apache-2.0
//
// Serves the daemon's own admin service, NodeAdminService, which works while the planner is down.
#ifndef COPSE_DAEMON_RPC_ADMIN_SERVER_H_
#define COPSE_DAEMON_RPC_ADMIN_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/loop/mailbox.h"
#include "protocol/control.h"

namespace copse::rpc {
class Identity;
}

namespace copse::daemon {

struct NodeStatus {
  schedule::DaemonStatus daemon;
  std::string planner;  // address of the planner
  bool planner_connected = false;
  std::string planner_refusal;
};

// A JobChange says that a job begins at this node, or ends.
struct JobChange {
  std::string job;
  uint32_t uid = 0;
  bool begins = false;
  bool exclusive = false;
};

struct AdminServerOptions {
  std::string listen;         // HOST:PORT; port 0: any
  std::string socket;         // path of a Unix socket for this machine's administrators; empty: none
  std::string log_file = {};  // as configured, for what was changed; empty: standard error
  bool insecure = false;
  std::shared_ptr<const rpc::Identity> identity;  // null: no TLS, and callers are not known
};

// An AdminServer serves from Start until Stop. It is created and stopped on the loop's thread, where `status` also
// runs, through the mailbox, so callers get no answer if the loop hangs. Any user may ask, and must not delay the
// clients' calls: `status` runs at most once in 10 ms, for all who wait, and their answers are made on a thread of the
// server. Callers beyond kStatusesMax waiting ones are refused (RESOURCE_EXHAUSTED).
class AdminServer {
 public:
  static constexpr size_t kStatusesMax = 64;  // callers that wait for their answer

  // `*mailbox` must outlive the server. Errors: INVALID_ARGUMENT if `listen` is no address, or beyond loopback without
  // an identity or `insecure`; UNAVAILABLE if the server cannot listen there.
  // A socket that cannot be listened on is logged. `change_job` runs on the loop's thread; it returns how many sessions
  // it has ended.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(
      const AdminServerOptions& options, Mailbox* mailbox, std::function<NodeStatus(bool latencies)> status,
      std::function<absl::StatusOr<uint32_t>(const JobChange&)> change_job = nullptr);
  ~AdminServer();

  // Returns HOST:PORT with the actual port.
  const std::string& address() const;
  // Answers the pending calls, which may take a moment, and ends. Idempotent.
  void Stop();

 private:
  class Impl;
  explicit AdminServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_ADMIN_SERVER_H_
