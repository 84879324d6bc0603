// SPDX-License-Identifier: Apache-2.0
//
// Latencies and rates of a known tree's links, from measurements between its nodes.
#ifndef COPSE_PLANNER_MEASURE_TREE_FIT_H_
#define COPSE_PLANNER_MEASURE_TREE_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/measure/measurement.h"
#include "planner/topology/topology.h"

namespace copse::measure {

// LatencyDoubt is the certainty of a link's latency.
enum class LatencyDoubt : uint8_t {
  kMeasured,    // the measurements leave no choice
  kShared,      // only its sum with other links is known; it has the share that the tree had before
  kUnmeasured,  // no measurement crosses it: unchanged from the tree
};
const char* LatencyDoubtName(LatencyDoubt doubt);  // measured, shared, unmeasured

// RateDoubt is the certainty of a link's rate.
enum class RateDoubt : uint8_t {
  kBottleneck,  // the slowest link between two measured nodes
  kTied,        // as slow as others on the same paths: one of them limits the rate, maybe this one
  kAtLeast,     // a slower link was on every path: it may be faster than stated
  kUnmeasured,  // unchanged from the tree
};
const char* RateDoubtName(RateDoubt doubt);  // bottleneck, tied, at-least, unmeasured

struct LinkFit {
  int64_t latency_ns = 0;
  int64_t latency_spread_ns = 0;  // residuals of the measurements across it, and their own spread
  LatencyDoubt latency_doubt = LatencyDoubt::kUnmeasured;
  int64_t bandwidth_bytes_per_s = 0;
  RateDoubt rate_doubt = RateDoubt::kUnmeasured;
};

struct TreeFit {
  std::vector<LinkFit> switches;  // by switch: the link above; the root's is unused
  std::vector<LinkFit> nodes;
  int64_t latency_error_ns = 0;      // root mean square of measured minus fitted, over pairs
  int64_t latency_error_ns_max = 0;  // of the pair that fits worst
};

// Fits latency by weighted least squares over links that are not negative; a measurement weighs by the inverse square
// of its spread and a share of its value, and less if it is longer than the others suggest (Cauchy's weights, ten
// rounds), since disturbances only lengthen it. The tree decides which links are determined: chains without a branch
// between measured nodes are one link. Rate: a path is as fast as its slowest link, so a link is at least as fast as
// the fastest path across it, and that is its rate where this explains a path that no other link on it explains.
//
// Errors:  INVALID_ARGUMENT: a pair of one node, or of nodes that are not in the tree; negative figures.
// Cost:    O(steps * pairs * depth) by conjugate gradients, of at most some thousand steps, as a rule fewer than links.
absl::StatusOr<TreeFit> FitTree(const topology::Topology& tree, absl::Span<const PairMeasurement> measurements);

// Returns pairs whose rates should be measured once more, since stalls only ever make a measurement slower: pairs that
// alone determine a link's rate (of all that cross it, no other is within 15 % of the fastest, so a disturbance of that
// one would go unnoticed), and pairs slower than the known rates of all their links (they were disturbed).
//
// Input:   that of FitTree; pairs without a rate are left out.
// Output:  each pair once, in the order of `measurements`.
// Errors:  those of FitTree.
absl::StatusOr<std::vector<NodePair>> DoubtfulRates(const topology::Topology& tree,
                                                    absl::Span<const PairMeasurement> measurements);

// Returns the tree with the fit's figures in place of its own. Errors: those of Topology::Create.
absl::StatusOr<topology::Topology> ApplyFit(const topology::Topology& tree, const TreeFit& fit);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_TREE_FIT_H_
