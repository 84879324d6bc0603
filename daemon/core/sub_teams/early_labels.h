// SPDX-License-Identifier: Apache-2.0
//
// Keeps labels of neighbors that come before the Prepare of their team.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_EARLY_LABELS_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_EARLY_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace copse::daemon {

// EarlyLabels keeps at most kLabelsMax labels of each of the last kTeamsMax teams. A team whose label is dropped is not
// formed in time. Thread-compatible.
class EarlyLabels {
 public:
  static constexpr size_t kTeamsMax = 256, kLabelsMax = 4096;
  using Label = std::pair<Incarnation, uint32_t>;  // sender, label

  void Add(TeamId team, Incarnation from, uint32_t label);
  // Returns the team's labels, in the order of their arrival, and forgets them.
  std::vector<Label> Take(TeamId team);

 private:
  std::map<TeamId, std::vector<Label>> labels_;
  std::list<TeamId> order_;  // of the teams' first labels; a list, since a deque takes memory without elements
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_EARLY_LABELS_H_
