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

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "daemon/core/daemon_core.h"
#include "daemon/loop/poller.h"
#include "daemon/shm/client_session.h"
#include "daemon/shm/daemon_pages.h"
#include "daemon/shm/early_totals.h"
#include "daemon/shm/post_shares.h"
#include "daemon/shm/process_watch.h"

namespace copse::daemon {

// An AttachServer owns the listening sockets and the clients' sessions. Only the loop's thread calls it, and not from
// within the core's callbacks. Whatever one client does, the others are served: reads are bounded, sends never block,
// and a client that breaks a rule is dropped.
class AttachServer {
 public:
  // All pointees must outlive this object.
  AttachServer(const Clock* clock, Poller* poller, DaemonCore* core, DaemonPages* pages, AttachOptions options);
  // Ends all sessions.
  ~AttachServer();

  // Accepts clients also from `socket`, which must be listening (listen_socket.h). Errors: the poller's.
  absl::Status AddListener(UniqueFd socket);

  // Handles posts of clients, ends doomed sessions, runs timers, and what waited for its turn (UserPace). Returns true
  // if there was anything but timers. Of clients that were quiet for a while it looks at a part, unless the daemon is
  // about to sleep.
  bool ReadPosts();
  // Wakes the clients that sleep and have got events since the last call.
  void WakeClients();
  // Returns how often clients have rung their doorbells since the start.
  uint64_t doorbells() const { return context_.doorbells; }
  // Returns how many connections, messages and ends had to wait beside another user's calls.
  uint64_t errands_kept() const { return context_.pace.kept(); }
  // Returns the sums of the clients' counters of asynchronous completion, those of clients that are gone included.
  EarlyTotals early_totals() const;
  // Returns the time at which ReadPosts must be called even without posts.
  absl::Time NextDeadline() const;

  // Ends the sessions of the job's processes in the next ReadPosts, and thus what the job holds. Returns their number.
  uint32_t EndJob(uint32_t uid, const std::string& job);

  // Ends all sessions and accepts no more. Teams of clients that are still attached break; other nodes receive the
  // failure when the core makes progress.
  void Shutdown(const std::string& why);

  size_t client_count() const { return served_.size() + doomed_.size(); }
  // Returns how many accounts hold something without a process of theirs being here, at the last look, a minute ago at
  // most: teams that were being formed when their processes ended stay until the planner says what becomes of them.
  uint32_t orphans() const { return orphans_; }

 private:
  // A Served is a session, and how many looks in a row have found no post of its client.
  struct Served {
    std::unique_ptr<ClientSession> session;
    uint32_t quiet = 0;
  };

  void OnConnection(int listener);
  // Accepts now, or when the connection's user may go on.
  void AcceptInTurn(UniqueFd socket);
  void Accept(UniqueFd socket, PeerProcess process);
  // Looks for posts of the client. Returns whether there was anything to do.
  bool Look(Served* served, size_t place, absl::Time now);
  // Ends the sessions that are doomed, now, or when their users may go on.
  void EndDoomed();
  void End(std::unique_ptr<ClientSession> session);
  // Ends sessions whose process is dead, and looks for accounts without one.
  void CheckHoldings();

  AttachOptions options_;
  SessionContext context_;
  std::vector<UniqueFd> listeners_;
  // It is closed for a moment to accept and refuse a connection when descriptors have run out; else the connection
  // would wait, and the listener would stay readable.
  UniqueFd spare_;
  std::vector<Served> served_;
  absl::flat_hash_map<const ClientSession*, std::unique_ptr<ClientSession>> doomed_;  // wait for their ends
  PostShares shares_;
  uint32_t turn_ = 0;
  size_t first_ = 0;  // the next turn's first session, modulo their number: the first one whose posts had to wait
  absl::Time next_check_;
  uint32_t orphans_ = 0;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_ATTACH_SERVER_H_
