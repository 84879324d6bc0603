// SPDX-License-Identifier: Apache-2.0
//
// Makes better plans for teams that have formed with quick ones. They are made with low priority once the team has
// formed; then a member is asked how many calls the team has made by each plan, and again after ever longer times. The
// team is switched once its calls would have saved what the switch costs. The decision record is
// docs/decisions/quick-first-plans.md.
#ifndef COPSE_PLANNER_COORDINATOR_TEAMS_BETTER_PLANS_H_
#define COPSE_PLANNER_COORDINATOR_TEAMS_BETTER_PLANS_H_

#include "base/ids.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/state/team_table.h"
#include "planner/coordinator/teams/switches.h"
#include "planner/coordinator/views/daemon_queries.h"

namespace copse::coordinator {

class BetterPlans {
 public:
  // All outlive this object.
  BetterPlans(State* state, Switches* switches, DaemonQueries* queries)
      : state_(state), switches_(switches), queries_(queries) {}

  // Looks for better plans until the team has others, breaks or ends: State::SettleForPlans.
  void Start(TeamId id);
  // The same for a team of its store, if that runs quick plans.
  void Resume(TeamId id);

 private:
  bool RunsQuickPlans(const Team& team) const;
  void Seek(TeamId id);        // requires Team::quick
  void LookLater(Team& team);  // sets the timer for Look
  void Look(TeamId id);        // asks a member for the team's calls so far
  void OnCallsSoFar(TeamId id, const StatusAnswer& answer);
  bool MayBeSwitchedNow(TeamId id) const;  // false while a member is away, drains or ends

  State* const state_;
  Switches* const switches_;
  DaemonQueries* const queries_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TEAMS_BETTER_PLANS_H_
