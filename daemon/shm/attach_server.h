// SPDX-License-Identifier: Apache-2.0
//
// Serves the clients of this node: accepts their connections, and runs and ends their sessions.
#ifndef COPSE_DAEMON_SHM_ATTACH_SERVER_H_
#define COPSE_DAEMON_SHM_ATTACH_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "daemon/core/daemon_core.h"
#include "daemon/loop/poller.h"
#include "daemon/loop/unique_fd.h"
#include "daemon/shm/client_session.h"
#include "daemon/shm/daemon_page.h"
#include "daemon/shm/early_totals.h"

namespace copse::daemon {

// Only the loop's thread calls it, and not from within the core's callbacks. Whatever one client does, the others are
// served: reads are bounded, sends never block, and a client that breaks a rule is dropped.
class AttachServer {
 public:
  // All pointers outlive it.
  AttachServer(const Clock* clock, Poller* poller, DaemonCore* core, DaemonPage* page, AttachOptions options);
  // Ends all sessions.
  ~AttachServer();

  // Accepts clients from `socket`, too, which is listening (listen_socket.h).
  absl::Status AddListener(UniqueFd socket);

  // Takes the posts of clients, ends doomed sessions, runs timers. Returns true if it did anything.
  bool ReadPosts();
  // Wakes the sleeping clients that got events since the last call.
  void WakeClients();
  // Number of times that clients have rung since the start.
  uint64_t doorbells() const { return context_.doorbells; }
  // Sums of the clients' counters of calls that return early, also of clients that are gone.
  EarlyTotals early_totals() const;
  // The latest time for the next ReadPosts.
  absl::Time NextDeadline() const;

  // Ends all sessions and accepts no more. Teams of clients that are still there break; the core
  // must Progress for that to reach other nodes.
  void Shutdown(const std::string& why);

  size_t client_count() const { return sessions_.size(); }

 private:
  void OnConnection(int listener);
  void Accept(UniqueFd socket);

  AttachOptions options_;
  SessionContext context_;
  std::vector<UniqueFd> listeners_;
  // Closed for a moment to refuse a connection when descriptors have run out; else the connection would wait, and the
  // listener stay readable for ever.
  UniqueFd spare_;
  std::vector<std::unique_ptr<ClientSession>> sessions_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_ATTACH_SERVER_H_
