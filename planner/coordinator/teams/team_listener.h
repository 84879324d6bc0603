// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface that is notified of the steps of teams' lives.
#ifndef COPSE_PLANNER_COORDINATOR_TEAMS_TEAM_LISTENER_H_
#define COPSE_PLANNER_COORDINATOR_TEAMS_TEAM_LISTENER_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "planner/coordinator/state/join_table.h"
#include "planner/coordinator/state/node_table.h"
#include "protocol/control.h"

namespace copse::coordinator {

// A TeamListener is notified of each step of a team's life after it was made. The team itself may change, or end, in a
// call.
class TeamListener {
 public:
  virtual ~TeamListener() = default;
  // The team has been decided and stored with quick plans.
  virtual void OnQuickPlans(TeamId team) = 0;
  // The first epoch of a team was aborted; the team, which is still known, must be forgotten. If `again`, the obstacle
  // was transient. `unprepared` are the joins of an attempt of which no daemon was notified.
  virtual void OnFirstEpochAborted(const schedule::TeamLayout& layout, const schedule::FailureReport& why, bool again,
                                   std::vector<Join> unprepared) = 0;
  // The daemon has left the team, which may end in this call.
  virtual void OnMemberLeft(TeamId team, uint32_t member) = 0;
  // The team broke, as `reporter` said, which may be null.
  virtual void OnBroken(const schedule::TeamLayout& layout, const schedule::FailureReport& why,
                        const Node* reporter) = 0;
  // The team is not known any more.
  virtual void OnForgotten(const schedule::TeamLayout& layout) = 0;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TEAMS_TEAM_LISTENER_H_
