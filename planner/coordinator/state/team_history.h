// SPDX-License-Identifier: Apache-2.0
//
// Remembers teams that have ended, for administrators.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_TEAM_HISTORY_H_
#define COPSE_PLANNER_COORDINATOR_STATE_TEAM_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "base/ids.h"
#include "protocol/control.h"

namespace copse::coordinator {

struct EndedTeam {
  uint64_t number = 0;          // from 1, in the order of their ends
  schedule::TeamLayout layout;  // without addresses
  EpochId epoch{0};             // its last
  bool was_broken = false;
  std::string why;   // if it was broken
  absl::Time ended;  // of the coordinator's clock
};

// A TeamHistory holds the teams that ended last: as many as have kPlacesMax nodes and ranks together, and at most
// kMax; the last one always. Thread-compatible.
class TeamHistory {
 public:
  static constexpr size_t kMax = 1024;
  static constexpr size_t kPlacesMax = 131072;

  // The number is set here.
  void Add(EndedTeam team) {
    team.number = ++last_;
    for (schedule::TeamNode& node : team.layout.nodes) node.worker_address.clear();
    places_ += Places(team);
    teams_.push_back(std::move(team));
    while (teams_.size() > 1 && (teams_.size() > kMax || places_ > kPlacesMax)) {
      places_ -= Places(teams_.front());
      teams_.pop_front();
    }
  }
  // Returns the first of those that ended after the one of this number, or null. Valid until the next Add.
  const EndedTeam* After(uint64_t number) const {
    const uint64_t gone = last_ - teams_.size();
    const size_t index = number <= gone ? 0 : number - gone;
    return index < teams_.size() ? &teams_[index] : nullptr;
  }

 private:
  static size_t Places(const EndedTeam& team) { return team.layout.nodes.size() + team.layout.shape.size(); }

  std::deque<EndedTeam> teams_;
  size_t places_ = 0;
  uint64_t last_ = 0;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_TEAM_HISTORY_H_
