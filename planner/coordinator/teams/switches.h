// SPDX-License-Identifier: Apache-2.0
//
// Switches teams to newly made plans.
#ifndef COPSE_PLANNER_COORDINATOR_TEAMS_SWITCHES_H_
#define COPSE_PLANNER_COORDINATOR_TEAMS_SWITCHES_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/teams/derived_teams.h"
#include "planner/coordinator/teams/epochs.h"

namespace copse::coordinator {

class Switches {
 public:
  // All outlive this object.
  Switches(State* state, Epochs* epochs, const DerivedTeams* derived)
      : state_(state), epochs_(epochs), derived_(derived) {}

  using Done = std::function<void(const absl::Status&)>;

  // Switches the team, or its derived team for options.collective. `done` is called once, maybe before this returns:
  // with OK when every node runs the new epoch, ABORTED when the old one continues, DATA_LOSS if the team broke
  // meanwhile, NOT_FOUND, FAILED_PRECONDITION, or an error of the PlanMaker or the store. While an obstacle may pass (a
  // node is away, another switch is in progress), the switch is retried for `patience`.
  void SwitchTeam(TeamId id, const PlanOptions& options, Done done, absl::Duration patience);
  // Does the same for this very team, without patience.
  void Switch(TeamId id, const PlanOptions& options, Done done);
  absl::Status Check(TeamId id) const;  // returns why the team cannot be switched now

 private:
  void SwitchUntil(TeamId id, const PlanOptions& options, Done done, absl::Time until);

  State* const state_;
  Epochs* const epochs_;
  const DerivedTeams* const derived_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TEAMS_SWITCHES_H_
