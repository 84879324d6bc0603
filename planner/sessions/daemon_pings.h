// SPDX-License-Identifier: Apache-2.0
//
// Notices that a planner reaches none of its daemons.
#ifndef COPSE_PLANNER_SESSIONS_DAEMON_PINGS_H_
#define COPSE_PLANNER_SESSIONS_DAEMON_PINGS_H_

#include <cstdint>
#include <set>

#include "absl/time/time.h"
#include "planner/coordinator/interfaces/session_sink.h"

namespace copse::planner {

// DaemonPings asks some daemons again and again for an answer. A connection whose packets vanish stays open for long,
// and the leader of several planners would keep its lease although another one may reach the daemons. All functions are
// called on the planner's thread.
class DaemonPings {
 public:
  // The daemons are taken for unreachable when nothing has come from any of them for about `patience`.
  DaemonPings(coordinator::SessionSink* sink, absl::Duration patience) : sink_(sink), patience_(patience) {}

  // A daemon has registered that answers Ping.
  void Add(coordinator::SessionId session) { sessions_.insert(session); }
  void Remove(coordinator::SessionId session) { sessions_.erase(session); }
  // A daemon has sent any message.
  void Heard() { silent_rounds_ = 0; }

  void Tick(absl::Time now);
  absl::Time NextDeadline() const { return next_round_; }
  // Returns whether at least two daemons are connected, and none of them has answered.
  bool is_cut_off() const;
  size_t daemons() const { return sessions_.size(); }

 private:
  coordinator::SessionSink* const sink_;
  const absl::Duration patience_;
  std::set<coordinator::SessionId> sessions_;
  coordinator::SessionId last_ = 0;  // the one that was asked last
  absl::Time next_round_ = absl::InfinitePast();
  // Counted, and not timed, so that a planner that stood still asks anew before it judges.
  uint32_t silent_rounds_ = 0;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SESSIONS_DAEMON_PINGS_H_
