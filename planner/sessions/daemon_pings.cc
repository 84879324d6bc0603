// SPDX-License-Identifier: Apache-2.0
#include "planner/sessions/daemon_pings.h"

#include <algorithm>

namespace copse::planner {
namespace {

constexpr uint32_t kRounds = 6;  // in `patience`
// A round asks at most as many daemons. Others have their turn in the next one, so that some that stand still do not
// speak for all.
constexpr size_t kAskedMax = 8;

}  // namespace

void DaemonPings::Tick(absl::Time now) {
  if (now < next_round_) return;
  next_round_ = now + patience_ / kRounds;
  if (sessions_.empty()) {
    silent_rounds_ = 0;
    return;
  }
  ++silent_rounds_;
  auto it = sessions_.upper_bound(last_);
  for (size_t left = std::min(kAskedMax, sessions_.size()); left > 0; --left) {
    if (it == sessions_.end()) it = sessions_.begin();
    last_ = *it++;
    sink_->Send(last_, schedule::Ping{});
  }
}

bool DaemonPings::is_cut_off() const { return sessions_.size() >= 2 && silent_rounds_ > kRounds; }

}  // namespace copse::planner
