// SPDX-License-Identifier: Apache-2.0
//
// Breaks and ends teams.
#ifndef COPSE_PLANNER_COORDINATOR_TEAMS_ENDS_H_
#define COPSE_PLANNER_COORDINATOR_TEAMS_ENDS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "base/ids.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/state/team_table.h"
#include "planner/coordinator/teams/epochs.h"
#include "planner/coordinator/teams/team_listener.h"
#include "protocol/control.h"

namespace copse::coordinator {

// An Ends breaks a team when a member that it needs is lost, and forgets it when every member has left or is gone.
class Ends {
 public:
  // All outlive this object.
  Ends(State* state, Epochs* epochs, TeamListener* listener) : state_(state), epochs_(epochs), listener_(listener) {}

  void OnLeaveTeam(Node& node, const schedule::LeaveTeam& message);
  void OnTeamBroken(Node& node, const schedule::TeamBroken& message);

  void Break(Team& team, const schedule::FailureReport& why, const Node* reporter = nullptr);
  // Breaks the team if members wait for the Commit of an epoch whose labels neither planner nor other members have,
  // apart from those that are lost.
  void BreakIfUntold(
      Team& team, absl::FunctionRef<bool(uint32_t member)> is_lost = [](uint32_t) { return false; });
  void MarkLeft(Team& team, uint32_t member);
  // Handles the end of a daemon: ends its membership in its teams, and breaks the teams that it had not left.
  void NodeGone(Node& node, const schedule::FailureReport& why);
  void Forget(TeamId id, bool has_ended = true);
  // Forgets the team without notice: if a daemon comes back with it, it is adopted.
  void DropRecord(TeamId id);

 private:
  void MaybeEnd(Team& team);  // `team` may be invalid afterwards

  State* const state_;
  Epochs* const epochs_;
  TeamListener* const listener_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TEAMS_ENDS_H_
