// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/formation_table.h"

#include <algorithm>

#include "base/check.h"

namespace copse::daemon {

using State = SubTeamFormation::State;

SubTeamFormation* FormationTable::Begin(const SubTeamKey& key) {
  if (SubTeamFormation* const formation = Find(key)) return formation;
  if (formations_.size() >= kMax) return nullptr;
  SubTeamFormation& formation = formations_[key];
  formation.since = clock_->Now();
  return &formation;
}

SubTeamFormation* FormationTable::Find(const SubTeamKey& key) {
  const auto it = formations_.find(key);
  return it == formations_.end() ? nullptr : &it->second;
}

SubTeamFormation FormationTable::Take(const SubTeamKey& key) {
  SubTeamFormation formation = std::move(formations_.extract(key).mapped());
  ReleaseId(formation.id);
  return formation;
}

std::optional<std::pair<SubTeamKey, Rank>> FormationTable::FindJoin(uint64_t request) const {
  for (const auto& [key, formation] : formations_) {
    for (const auto& [rank, its] : formation.own) {
      if (its == request) return std::pair(key, rank);
    }
  }
  return std::nullopt;
}

std::vector<SubTeamKey> FormationTable::Keys() const {
  std::vector<SubTeamKey> keys;
  for (const auto& [key, formation] : formations_) keys.push_back(key);
  return keys;
}

std::vector<SubTeamKey> FormationTable::KeysOf(TeamId parent) const {
  std::vector<SubTeamKey> keys;
  for (auto it = formations_.lower_bound({parent, {}}); it != formations_.end() && it->first.first == parent; ++it) {
    keys.push_back(it->first);
  }
  return keys;
}

SubTeamFormation FormationTable::End(const SubTeamKey& key, const SubTeamOutcome& outcome) {
  SubTeamFormation& formation = formations_.at(key);
  SubTeamFormation ended = std::move(formation);
  ReleaseId(ended.id);
  formation = {.state = State::kOver, .since = clock_->Now(), .passed = std::move(ended.passed), .outcome = outcome};
  return ended;
}

const SubTeamOutcome* FormationTable::OutcomeFor(const SubTeamKey& key, const std::vector<Rank>& ranks, bool joins) {
  const auto it = formations_.find(key);
  if (it == formations_.end() || it->second.state != State::kOver) return nullptr;
  SubTeamFormation& over = it->second;
  const bool is_late =
      std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) { return over.passed.insert(rank).second; });
  if (is_late || !joins) return &over.outcome;
  formations_.erase(it);
  return nullptr;
}

void FormationTable::SetId(const SubTeamKey& key, TeamId id) {
  formations_.at(key).id = id;
  keys_.emplace(id, key);
}

std::optional<SubTeamKey> FormationTable::KeyOf(TeamId id) const {
  const auto it = keys_.find(id);
  return it == keys_.end() ? std::nullopt : std::optional(it->second);
}

void FormationTable::CheckInvariants() const {
  for (const auto& [id, key] : keys_) {
    const auto it = formations_.find(key);
    CHECK(it != formations_.end() && it->second.id == id);
    CHECK(it->second.state == State::kPreparing || it->second.is_ahead);
  }
  for (const auto& [key, formation] : formations_) {
    CHECK(formation.state != State::kPreparing || keys_.contains(formation.id));
    CHECK(formation.state == State::kPreparing || formation.is_ahead || formation.exchange.neighbors().empty());
    CHECK(formation.state == State::kGathering || !formation.is_ahead);
    CHECK(formation.state != State::kOver || formation.own.empty());
  }
}

}  // namespace copse::daemon
