// SPDX-License-Identifier: Apache-2.0
//
// Defines the cost model's result, and constants that the model assumes.
#ifndef COPSE_PLANNER_PRICING_PREDICTION_H_
#define COPSE_PLANNER_PRICING_PREDICTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace copse::planner {

// Limits predicted times, in ns; longer ones are refused.
inline constexpr int64_t kPredictionNsMax = int64_t{1} << 60;
// A block collective is priced for at most this many segments.
inline constexpr uint64_t kBlockSegmentsMax = uint64_t{1} << 22;
// This many calls of a team's port may be in flight at a node: the default window of teams.
inline constexpr uint32_t kTeamWindow = 8;
// A daemon makes copy lists when it arms a call, and each run costs it this time (docs/reference/cost-model.md).
inline constexpr int64_t kCopyRunNs = 15;

// A PathStep is one step of the critical path or of the timeline.
struct PathStep {
  NodeIndex node{0};
  std::optional<Rank> rank;  // the rank that was busy; nullopt: the node's daemon
  // It is one of "post", "pick up", "wake", "take rank 3", "arm", "receive", "reduce", "copy", "send", "transfer",
  // "deliver to rank 3".
  std::string what;
  std::optional<NodeIndex> peer;  // for "send", "transfer" (an entry of the sender's node) and "receive"
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  friend bool operator==(const PathStep&, const PathStep&) = default;
};

struct Prediction {
  std::vector<int64_t> completion_ns;  // by rank: the time at which it has its result, or may continue
  int64_t total_ns = 0;                // completion time of the slowest rank
  // It has the steps from a rank's post, or from credit that a node receives, to the slowest rank's completion (the
  // lowest of these ranks), in order; empty if not requested. A gap between two steps is a wait for a core.
  std::vector<PathStep> critical_path;
  std::vector<PathStep> timeline;  // all actors' steps, by start, if requested
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_PREDICTION_H_
