// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/nodes/sweeper.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "base/log.h"
#include "protocol/log_subject.h"

namespace copse::coordinator {

bool Sweeper::MayComeBack(const Team& team) const {
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Member& member = team.members[i];
    if (!member.left && !member.gone && state_->nodes.Live(team.record.layout.nodes[i]) == nullptr) return true;
  }
  return false;
}

bool Sweeper::IsAwayForLong(const Team& team, uint32_t index) const {
  const absl::Time since = state_->Now() - state_->options.forget_records;
  // A planner that started later than that does not know for how long members were away before.
  if (state_->started > since) return false;
  const schedule::TeamNode& member = team.record.layout.nodes[index];
  const Node* node = state_->nodes.Find(member.name);
  const bool has_name = node != nullptr && node->announcement.incarnation == member.incarnation;
  const absl::Time away_since = has_name ? node->away_since : team.nameless_since;
  return state_->nodes.Live(member) == nullptr && away_since <= since;
}

bool Sweeper::IsAbandoned(const Team& team) const {
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    if (team.members[i].remains() && !IsAwayForLong(team, i)) return false;
  }
  return true;
}

void Sweeper::Run() {
  std::vector<TeamId> abandoned, waiting;
  bool again = false;
  for (const auto& [id, team] : state_->teams.all()) {
    if (!MayComeBack(team)) continue;
    if (IsAbandoned(team)) {
      abandoned.push_back(id);
    } else {
      waiting.push_back(id);
      again = true;
    }
  }
  for (const TeamId id : abandoned) {
    if (state_->teams.Find(id) != nullptr) ends_->DropRecord(id);
  }
  for (const TeamId id : waiting) {
    Team* const team = state_->teams.Find(id);
    if (team == nullptr) continue;
    ends_->BreakIfUntold(*team, [&](uint32_t member) { return IsAwayForLong(*team, member); });
  }
  reunion_->SettleUndecided();
  again |= reunion_->has_undecided();
  std::vector<std::string> forgotten;
  for (const auto& [name, node] : state_->nodes.all()) {
    if (node.session != 0) continue;
    again = true;
    if (!node.teams.empty() || state_->drains.Has(name)) continue;
    if (state_->Now() - node.away_since < state_->options.forget_nodes) continue;
    COPSE_LOG_ABOUT(kInfo, schedule::AboutNode(name), "node ", name, " is away for ",
                    absl::FormatDuration(state_->options.forget_nodes), ": it is forgotten");
    forgotten.push_back(name);
  }
  for (const std::string& name : forgotten) state_->nodes.Erase(name);
  if (again) state_->sweep.Later();
}

}  // namespace copse::coordinator
