// SPDX-License-Identifier: Apache-2.0
//
// Tells the planner of the sub-teams that daemons have formed.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_FORMED_REPORTS_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_FORMED_REPORTS_H_

#include <vector>

#include "base/ids.h"
#include "daemon/core/planner_session.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team_table.h"
#include "protocol/control.h"

namespace copse::daemon {

// FormedReports keeps the committed teams that the planner has not heard of, a parent before its sub-teams.
// Thread-compatible.
class FormedReports {
 public:
  // Both must outlive this object.
  FormedReports(PlannerSession* planner, const TeamTable* teams) : planner_(planner), teams_(teams) {}

  // The team is committed.
  void Add(TeamId team) { unreported_.push_back(team); }
  // The planner need not hear of the team: it is over.
  void Drop(TeamId team) { std::erase(unreported_, team); }
  // Returns whether the planner is there, and has not heard of the team.
  bool IsMissing(TeamId team) const;
  // Reports all teams, if the planner is there.
  void Send();

 private:
  void Send(const Team& team);

  PlannerSession* const planner_;
  const TeamTable* const teams_;
  std::vector<TeamId> unreported_;  // in the order of their commits
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_FORMED_REPORTS_H_
