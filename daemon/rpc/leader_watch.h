// SPDX-License-Identifier: Apache-2.0
//
// Asks a planner that is not in use which one leads.
#ifndef COPSE_DAEMON_RPC_LEADER_WATCH_H_
#define COPSE_DAEMON_RPC_LEADER_WATCH_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "daemon/loop/mailbox.h"
#include "daemon/rpc/planner_access.h"

namespace copse::daemon {

// A LeaderWatch keeps a silent stream to one planner, so that a leader whose host vanished is noticed by its
// successor's word, and not by keepalives. All calls come from the loop's thread.
class LeaderWatch {
 public:
  // Called when a planner leads that is newer than those heard of before, with its HOST:PORT.
  using OnLeader = std::function<void(const std::string& leader)>;

  // All pointees must outlive the object.
  LeaderWatch(const Clock* clock, Mailbox* mailbox, PlannerAccess access, OnLeader on_leader);
  ~LeaderWatch();

  // Asks the planner at `address` if none is being asked and the pause after the last one is over.
  void Tick(absl::Time now, const std::function<std::string()>& address);
  absl::Time NextDeadline() const { return next_try_; }
  // Returns the planner that is asked; empty: none.
  const std::string& asked() const { return asked_; }
  // Notes the number of the leader that is in use. It may be lower than an earlier one's: etcd was restored.
  void Heard(uint64_t number) { number_ = number; }
  // Ends the stream if the planner's certificate is not believed any more.
  void CheckPlanner();
  // Ends the stream; another one begins at once.
  void Restart();

 private:
  class LeaderStream;
  void OnMessage(const std::string& leader, uint64_t number);
  void OnEnd();

  const Clock* const clock_;
  Mailbox* const mailbox_;
  const PlannerAccess access_;
  const OnLeader on_leader_;
  std::unique_ptr<LeaderStream> stream_;
  std::string asked_;
  absl::Time next_try_ = absl::InfinitePast();
  bool answered_ = false;  // by the planner that is asked
  int silent_ = 0;         // planners in succession that have not answered
  uint64_t number_ = 0;    // of the newest leader that was heard of
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_LEADER_WATCH_H_
