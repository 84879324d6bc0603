// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/unstored_changes.h"

#include <variant>

namespace copse::coordinator {
namespace {

bool IsOfCluster(const StoreChange& change) {
  return std::holds_alternative<PutDraining>(change) || std::holds_alternative<PutTerm>(change) ||
         std::holds_alternative<PutCluster>(change) || std::holds_alternative<PutAborted>(change);
}

}  // namespace

TeamId TeamOf(const StoreChange& change) {
  if (const auto* put = std::get_if<PutTeam>(&change)) return put->record->layout.id;
  if (const auto* drop = std::get_if<DropTeam>(&change)) return drop->team;
  if (const auto* aborted = std::get_if<PutAborted>(&change)) return aborted->team;
  return TeamId{0};
}

uint64_t UnstoredChanges::Add(const StoreChange& change) {
  ++last_;
  const TeamId team = TeamOf(change);
  if (team != TeamId{0}) last_of_teams_[team] = last_;
  if (IsOfCluster(change)) last_of_cluster_ = last_;
  return last_;
}

void UnstoredChanges::Remove(uint64_t number, const StoreChange& change) {
  const auto it = last_of_teams_.find(TeamOf(change));
  if (it != last_of_teams_.end() && it->second == number) last_of_teams_.erase(it);
}

uint64_t UnstoredChanges::LastOf(TeamId team) const {
  const auto it = last_of_teams_.find(team);
  return it == last_of_teams_.end() ? 0 : it->second;
}

}  // namespace copse::coordinator
