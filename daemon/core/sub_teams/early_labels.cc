// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/early_labels.h"

namespace copse::daemon {

void EarlyLabels::Add(TeamId team, Incarnation from, uint32_t label) {
  const auto [it, is_new] = labels_.try_emplace(team);
  if (it->second.size() < kLabelsMax) it->second.emplace_back(from, label);
  if (!is_new) return;
  order_.push_back(team);
  if (order_.size() <= kTeamsMax) return;
  labels_.erase(order_.front());
  order_.pop_front();
}

std::vector<EarlyLabels::Label> EarlyLabels::Take(TeamId team) {
  auto node = labels_.extract(team);
  return node.empty() ? std::vector<Label>() : std::move(node.mapped());
}

}  // namespace copse::daemon
