// SPDX-License-Identifier: Apache-2.0
//
// What the cost model tells of a call, and what it takes for granted.
#ifndef COPSE_PLANNER_PRICING_PREDICTION_H_
#define COPSE_PLANNER_PRICING_PREDICTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace copse::planner {

// Predictions beyond this are refused.
inline constexpr int64_t kPredictionNsMax = int64_t{1} << 60;
// Block collectives of more segments are not priced.
inline constexpr uint64_t kBlockSegmentsMax = uint64_t{1} << 22;
// Calls of a team's port that are under way at once at a node: the window that teams have unless configured otherwise.
inline constexpr uint32_t kTeamWindow = 8;
// What a daemon needs for each run of a list of copies: it makes the list when it arms the call. Ours; see
// docs/reference/cost-model.md.
inline constexpr int64_t kCopyRunNs = 15;

// One stretch of the critical path.
struct PathStep {
  NodeIndex node{0};
  std::optional<Rank> rank;  // if the rank itself was busy, not its node's daemon
  // "post", "pick up", "wake", "take rank 3", "arm", "receive", "reduce", "copy", "send", "transfer", "deliver to
  // rank 3".
  std::string what;
  std::optional<NodeIndex> peer;  // of "send", "transfer" (which the sender's node has) and "receive"
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  friend bool operator==(const PathStep&, const PathStep&) = default;
};

struct Prediction {
  std::vector<int64_t> completion_ns;  // by rank: when it has its result, or may go on
  int64_t total_ns = 0;                // of the slowest
  // From a rank that posted to the slowest (the lowest of them), in order. What lies between two steps is waiting for
  // a core.
  std::vector<PathStep> critical_path;
  std::vector<PathStep> timeline;  // all that everybody did, by start, if asked for
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_PREDICTION_H_
