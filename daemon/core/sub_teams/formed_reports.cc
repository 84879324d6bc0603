// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/formed_reports.h"

#include <algorithm>
#include <utility>

#include "daemon/core/team/indexed_layout.h"

namespace copse::daemon {

bool FormedReports::IsMissing(TeamId team) const {
  return planner_->registered() && std::find(unreported_.begin(), unreported_.end(), team) != unreported_.end();
}

void FormedReports::Send() {
  if (!planner_->registered()) return;
  const std::vector<TeamId> teams = std::exchange(unreported_, {});
  if (!planner_->Has(schedule::Feature::kSubTeams)) return;
  for (const TeamId id : teams) {
    if (const Team* const team = teams_->Find(id)) Send(*team);
  }
}

void FormedReports::Send(const Team& team) {
  const schedule::TeamLayout& layout = team.layout();
  schedule::TeamFormed formed{.layout = {.id = layout.id,
                                         .identity = layout.identity,
                                         .parent = layout.parent,
                                         .shape = {},
                                         .nodes = {},
                                         .window = layout.window},
                              .parent_epoch = EpochId(0),
                              .plans = {}};
  const Team* const parent = teams_->Find(layout.parent);
  if (parent != nullptr && parent->plans() == team.plans() &&
      HaveSameMembers(*parent->shared_layout(), *team.shared_layout())) {
    formed.parent_epoch = parent->epoch();
  } else {
    formed.layout.shape = layout.shape;
    formed.layout.nodes = layout.nodes;
    if (team.members().self() == NodeIndex(0)) formed.plans = *team.EncodedPlans();
  }
  planner_->Send(formed);
}

}  // namespace copse::daemon
