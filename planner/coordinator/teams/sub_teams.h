// SPDX-License-Identifier: Apache-2.0
//
// Issues ids for the sub-teams that daemons form among themselves, and adopts these teams from their reports.
#ifndef COPSE_PLANNER_COORDINATOR_TEAMS_SUB_TEAMS_H_
#define COPSE_PLANNER_COORDINATOR_TEAMS_SUB_TEAMS_H_

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/nodes/reunion.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/teams/derived_teams.h"
#include "planner/coordinator/teams/ends.h"
#include "protocol/control.h"

namespace copse::coordinator {

class SubTeams {
 public:
  // All outlive this object.
  SubTeams(State* state, Ends* ends, DerivedTeams* derived, Reunion* reunion)
      : state_(state), ends_(ends), derived_(derived), reunion_(reunion) {}

  void SendTeamIds(SessionId session);
  void OnTeamFormed(Node& node, const schedule::TeamFormed& message);

 private:
  // Returns the report as Register would have it. NOT_FOUND: the parent, whose nodes and ranks it has, is not known.
  absl::StatusOr<schedule::RunningTeam> Whole(const schedule::TeamFormed& message) const;
  // Marks members left that have not reported the team, and will not.
  void EndWaitForReports(TeamId id);

  State* const state_;
  Ends* const ends_;
  DerivedTeams* const derived_;
  Reunion* const reunion_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TEAMS_SUB_TEAMS_H_
