// SPDX-License-Identifier: Apache-2.0
//
// The cost model's result, and the constants that it assumes.
#ifndef COPSE_PLANNER_PRICING_PREDICTION_H_
#define COPSE_PLANNER_PRICING_PREDICTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace copse::planner {

// Limit of predicted times; longer ones are refused.
inline constexpr int64_t kPredictionNsMax = int64_t{1} << 60;
// Limit of segments for which a block collective is priced.
inline constexpr uint64_t kBlockSegmentsMax = uint64_t{1} << 22;
// Window of concurrent calls of a team's port at a node: the default of teams.
inline constexpr uint32_t kTeamWindow = 8;
// Cost of each run of a copy list for the daemon, which makes the list when it arms the call. Ours; see
// docs/reference/cost-model.md.
inline constexpr int64_t kCopyRunNs = 15;

// PathStep is one step of the critical path.
struct PathStep {
  NodeIndex node{0};
  std::optional<Rank> rank;  // if the rank itself was busy, not its node's daemon
  // "post", "pick up", "wake", "take rank 3", "arm", "receive", "reduce", "copy", "send", "transfer", "deliver to
  // rank 3".
  std::string what;
  std::optional<NodeIndex> peer;  // for "send", "transfer" (an entry of the sender's node) and "receive"
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  friend bool operator==(const PathStep&, const PathStep&) = default;
};

struct Prediction {
  std::vector<int64_t> completion_ns;  // by rank: when it has its result, or may continue
  int64_t total_ns = 0;                // that of the slowest rank
  // From a posting rank to the slowest (the lowest of them), in order. A gap between two steps is a wait for a core.
  std::vector<PathStep> critical_path;
  std::vector<PathStep> timeline;  // all actors' steps, by start, if requested
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_PREDICTION_H_
