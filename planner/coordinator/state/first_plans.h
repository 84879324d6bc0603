// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a team that has formed with quick plans is switched to better ones.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_FIRST_PLANS_H_
#define COPSE_PLANNER_COORDINATOR_STATE_FIRST_PLANS_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "planner/coordinator/state/timer_queue.h"

namespace copse::coordinator {

// Times from one look at a team's calls to the next: each is twice the one before.
inline constexpr absl::Duration kFirstLook = absl::Seconds(1);
inline constexpr absl::Duration kLastLook = absl::Hours(1);

// A QuickState is what is known of better plans for a team that runs quick ones.
struct QuickState {
  // It has what a typical call by each of the team's plans would save, in us and in the plans' order. Empty: the better
  // plans are not there yet.
  std::vector<double> savings_us;
  double saved_us = 0;       // what the team's calls would have saved, at the last look
  bool is_doubtful = false;  // the team may have other plans than quick ones: a planner that starts again looks later
  bool is_sought = false;    // better plans are being made, the team's calls are awaited, or it is being switched
  absl::Duration wait = kFirstLook;  // until the next look
  TimerId timer;

  bool any_saves() const {
    return std::any_of(savings_us.begin(), savings_us.end(), [](double saving) { return saving > 0; });
  }
};

// Returns the time in us that all calls of a team may wait for a switch: 10 ms, and 300 us for each node. (A team of
// 10,000 nodes that is formed again takes 3 s on two cores: docs/benchmarks.md, control-swarm.)
inline double SwitchCostUs(uint32_t node_count) { return 10'000.0 + 300.0 * node_count; }

// Returns what calls would have saved by better plans, in us: savings_us[i] is for a call by plans[i]; a plan that is
// not in `calls` has made none.
inline double SavedUs(const std::vector<double>& savings_us, const std::vector<PlanId>& plans,
                      const std::map<PlanId, uint64_t>& calls) {
  double saved_us = 0;
  for (size_t i = 0; i < std::min(savings_us.size(), plans.size()); ++i) {
    const auto made = calls.find(plans[i]);
    if (made != calls.end()) saved_us += savings_us[i] * static_cast<double>(made->second);
  }
  return saved_us;
}

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_FIRST_PLANS_H_
