// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/parent_teams.h"

#include <algorithm>
#include <utility>

namespace copse::mpi {

ParentTeam ParentTeams::Oldest(Group* group) {
  while (!group->teams.empty()) {
    if (auto team = group->teams.front().team.lock()) return {std::move(team), group->teams.front().id};
    std::erase_if(group->teams, [](const Known& known) { return known.team.expired(); });
  }
  return {};
}

void ParentTeams::Add(const std::vector<int>& ranks, const ParentTeam& parent) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [](Group& group) { return Oldest(&group).team == nullptr; });
  auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& known) { return known.ranks == ranks; });
  if (group == groups_.end()) {
    group = groups_.insert(groups_.end(), {.ranks = ranks, .sorted = ranks, .teams = {}});
    std::sort(group->sorted.begin(), group->sorted.end());
  }
  group->teams.push_back({parent.team, parent.id});
}

void ParentTeams::Remove(const copse_team_t* team) {
  const std::lock_guard lock(mutex_);
  for (Group& group : groups_) {
    std::erase_if(group.teams, [team](const Known& known) { return known.team.lock().get() == team; });
  }
}

ParentTeam ParentTeams::Find(const std::vector<int>& ranks) {
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const std::lock_guard lock(mutex_);
  ParentTeam found;
  size_t found_size = 0;
  for (Group& group : groups_) {
    const bool is_same = group.ranks == ranks;
    if (!is_same && found.team != nullptr && group.ranks.size() >= found_size) continue;
    if (!is_same && !std::includes(group.sorted.begin(), group.sorted.end(), sorted.begin(), sorted.end())) continue;
    ParentTeam oldest = Oldest(&group);
    if (oldest.team == nullptr) continue;
    if (is_same) return oldest;
    found = std::move(oldest);
    found_size = group.ranks.size();
  }
  return found;
}

}  // namespace copse::mpi
