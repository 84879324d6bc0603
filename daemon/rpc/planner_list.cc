// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/planner_list.h"

#include <utility>

namespace copse::daemon {
namespace {

// Pause between two planners of the list, at most: all daemons lose their planner at once.
constexpr absl::Duration kNextMax = absl::Milliseconds(100);
// Planners that are cut off from each other might name one another for ever.
constexpr size_t kHintsMax = 3;

// A planner that begins to lead is tried so often, with pauses that are twice as long each time: for about 2 s.
constexpr int kFollowedTries = 6;
constexpr absl::Duration kFollowedPause = absl::Milliseconds(30);

}  // namespace

PlannerList::PlannerList(std::vector<std::string> addresses, ReconnectPauseOptions pause, uint64_t seed)
    : addresses_(std::move(addresses)), pause_(pause, seed), prng_(seed), current_(addresses_.front()) {}

const std::string& PlannerList::Other() {
  for (size_t i = 0; i < addresses_.size(); ++i) {
    asked_ = (asked_ + 1) % addresses_.size();
    if (addresses_[asked_] != current_) break;
  }
  return addresses_[asked_];
}

void PlannerList::Follow(const std::string& address) {
  current_ = address;
  patience_ = kFollowedTries;
}

absl::Duration PlannerList::Ended(absl::Duration stood, bool refused, const std::string& leader) {
  if (stood > absl::ZeroDuration()) {
    tries_ = hints_ = 0;
    patience_ = 0;
  }
  if (patience_ > 0) {
    const int tried = kFollowedTries - patience_--;
    return kFollowedPause * (1 << tried) * (0.5 + prng_.Unit());
  }
  if (!leader.empty() && leader != current_ && hints_ < kHintsMax) {
    ++hints_;
    current_ = leader;
    return absl::ZeroDuration();
  }
  do {
    next_ = (next_ + 1) % addresses_.size();
  } while (addresses_.size() > 1 && addresses_[next_] == current_);
  current_ = addresses_[next_];
  if (++tries_ % addresses_.size() != 0) return prng_.Unit() * kNextMax;
  hints_ = 0;
  return refused ? pause_.NextWhenRefused() : pause_.Next(stood);
}

}  // namespace copse::daemon
