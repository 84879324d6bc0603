// SPDX-License-Identifier: Apache-2.0
//
// Holds the teams of a daemon, including the derived ones.
#ifndef COPSE_DAEMON_CORE_TEAM_TABLE_H_
#define COPSE_DAEMON_CORE_TEAM_TABLE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "base/ids.h"
#include "daemon/core/team/team.h"

namespace copse::daemon {

// A TeamTable owns the teams, and the list of those that have engine events to handle. Thread-compatible.
class TeamTable {
 public:
  using Teams = std::map<TeamId, std::unique_ptr<Team>>;

  Team* Find(TeamId id) const {
    const auto it = teams_.find(id);
    return it == teams_.end() ? nullptr : it->second.get();
  }
  // Returns a derived team's parent; null: the team is not derived, or its parent is gone.
  Team* ParentOf(const Team& team) const {
    return schedule::IsDerivedTeam(team.layout().identity) ? Find(team.layout().parent) : nullptr;
  }
  // Requires that the table has no team with this id.
  Team* Add(std::unique_ptr<Team> team) {
    const TeamId id = team->id();
    return teams_.emplace(id, std::move(team)).first->second.get();
  }
  void Remove(TeamId id) { teams_.erase(id); }

  // Returns the list that a new team is constructed with.
  ReadyTeams* ready() { return &ready_; }
  // Handles the events of all marked teams. Returns true if any team was marked. Must not be called from a team's Pump.
  bool Pump() {
    return ready_.HandleAll([](Team* team) { team->Pump(); });
  }

  Teams::const_iterator begin() const { return teams_.begin(); }
  Teams::const_iterator end() const { return teams_.end(); }
  size_t size() const { return teams_.size(); }
  bool empty() const { return teams_.empty(); }

 private:
  ReadyTeams ready_;  // destroyed after the teams, which mark themselves on it
  Teams teams_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_TABLE_H_
