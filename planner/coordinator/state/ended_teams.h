// SPDX-License-Identifier: Apache-2.0
//
// Remembers the teams that ended last.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_ENDED_TEAMS_H_
#define COPSE_PLANNER_COORDINATOR_STATE_ENDED_TEAMS_H_

#include <cstddef>
#include <deque>
#include <set>

#include "base/ids.h"

namespace copse::coordinator {

// An EndedTeams holds the teams that ended last, at most kMax, since a daemon that missed an end may report the team
// again. Thread-compatible.
class EndedTeams {
 public:
  static constexpr size_t kMax = 65536;

  void Insert(TeamId team) {
    if (!teams_.insert(team).second) return;
    order_.push_back(team);
    if (order_.size() <= kMax) return;
    teams_.erase(order_.front());
    order_.pop_front();
  }
  bool Has(TeamId team) const { return teams_.count(team) != 0; }

 private:
  std::set<TeamId> teams_;
  std::deque<TeamId> order_;  // ascending by their ends
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_ENDED_TEAMS_H_
