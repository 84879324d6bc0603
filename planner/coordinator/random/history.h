// SPDX-License-Identifier: Apache-2.0
//
// Records what the daemons of a random run have decided, and checks that they decided it alike.
#ifndef COPSE_PLANNER_COORDINATOR_RANDOM_HISTORY_H_
#define COPSE_PLANNER_COORDINATOR_RANDOM_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/ids.h"
#include "base/prng.h"
#include "protocol/control.h"

namespace copse::coordinator {

// NodeKey names a daemon, by its node and the number of its start.
using NodeKey = std::pair<std::string, Incarnation>;

// DerivedTeamKey names the derived team of a team for a collective class.
using DerivedTeamKey = std::pair<TeamId, Family>;

// Returns an iterator to a random element. Precondition: `all` is not empty.
template <typename Map>
auto SomeOf(Map& all, Prng& prng) {
  return std::next(all.begin(), static_cast<ptrdiff_t>(prng.Below(all.size())));
}

// EpochHistory records the daemons' reactions to an epoch.
struct EpochHistory {
  std::set<NodeKey> committed, aborted;
  std::set<uint64_t> first_calls, plan_hashes;
  // labels[a][b] is the label that a issued for b
  std::map<NodeKey, std::map<uint32_t, uint32_t>> labels;
};

// Totals counts the events of runs, to show that they were not idle.
struct Totals {
  uint64_t formed = 0, replanned = 0, crashes = 0, lost_stores = 0, derived = 0, elections = 0, deposed = 0, drains = 0;
  uint64_t sub_teams = 0;  // members of sub-teams that daemons have formed
};

struct History {
  // EpochKey has the team's name beside its id, which two clusters may issue: no two teams have one name.
  using EpochKey = std::tuple<TeamId, std::string, EpochId>;
  static EpochKey KeyOf(const schedule::TeamLayout& layout, EpochId epoch) {
    return {layout.id, layout.identity.name, epoch};
  }

  // Reports failures of the invariants that hold after each step.
  void Check() const;
  // Returns whether clusters of different names have issued the teams' ids.
  bool AreOfTwoClusters(const schedule::TeamLayout& one, const schedule::TeamLayout& other) const;

  std::map<EpochKey, EpochHistory> epochs;
  std::map<std::pair<TeamId, std::string>, std::string> issuers;  // clusters, by the teams' ids and names
  // Attempts at derived teams, by the number of those that failed before.
  using Attempt = std::pair<DerivedTeamKey, uint64_t>;
  std::map<Attempt, TeamId> formed_attempts;
  std::set<Attempt> failed_attempts;
  std::set<TeamId> sub_teams;
  std::set<NodeKey> dead;
  std::set<std::pair<TeamId, NodeKey>> left;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_RANDOM_HISTORY_H_
