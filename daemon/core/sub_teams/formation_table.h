// SPDX-License-Identifier: Apache-2.0
//
// Holds the sub-teams that a daemon has part in forming.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_FORMATION_TABLE_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_FORMATION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "daemon/core/sub_teams/sub_team_formation.h"

namespace copse::daemon {

// A FormationTable finds formations by their sub-team, by the id that the team is prepared with, and by a join. It
// keeps the outcomes of those that are over, for joins that come late. Thread-compatible.
class FormationTable {
 public:
  // Limits the formations, those that are over included.
  static constexpr size_t kMax = 4096;

  // `*clock` must outlive this object.
  explicit FormationTable(const Clock* clock) : clock_(clock) {}

  // Returns the formation, which is a new one if there was none; null: there are kMax.
  SubTeamFormation* Begin(const SubTeamKey& key);
  // Returns null if there is none.
  SubTeamFormation* Find(const SubTeamKey& key);
  SubTeamFormation& at(const SubTeamKey& key) { return formations_.at(key); }
  // Removes the formation, whose id is released, and returns it.
  SubTeamFormation Take(const SubTeamKey& key);
  // Returns the formation with this join of a rank here, and the rank; nothing: there is none.
  std::optional<std::pair<SubTeamKey, Rank>> FindJoin(uint64_t request) const;
  std::vector<SubTeamKey> Keys() const;
  std::vector<SubTeamKey> KeysOf(TeamId parent) const;

  // --- Outcomes ---
  // Replaces the formation, whose id is released, by its outcome, and returns what it was.
  SubTeamFormation End(const SubTeamKey& key, const SubTeamOutcome& outcome);
  // Returns the outcome for ranks that join late, or say (`joins` is false) that they do not; null: the formation is
  // not over. If all of them have joined before, they try again, and the outcome is forgotten.
  const SubTeamOutcome* OutcomeFor(const SubTeamKey& key, const std::vector<Rank>& ranks, bool joins);

  // --- Ids of teams being prepared, with members here or not ---
  void SetId(const SubTeamKey& key, TeamId id);
  void ReleaseId(TeamId id) { keys_.erase(id); }
  bool HasId(TeamId id) const { return keys_.contains(id); }
  // Returns nothing if no team is being prepared with the id.
  std::optional<SubTeamKey> KeyOf(TeamId id) const;

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  const Clock* const clock_;
  std::map<SubTeamKey, SubTeamFormation> formations_;
  std::map<TeamId, SubTeamKey> keys_;  // by id
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_FORMATION_TABLE_H_
