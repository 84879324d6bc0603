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

// How much is known of a link's latency.
enum class LatencyDoubt : uint8_t {
  kMeasured,    // the measurements leave no choice
  kShared,      // only its sum with other links is known (of which it has the share that the tree said before)
  kUnmeasured,  // no measurement crosses it: as the tree said before
};
const char* LatencyDoubtName(LatencyDoubt doubt);  // measured, shared, unmeasured

// How much is known of a link's rate.
enum class RateDoubt : uint8_t {
  kBottleneck,  // the slowest link between two nodes that were measured
  kTied,        // as slow as others on the same paths: one of them holds the rate down, maybe this one
  kAtLeast,     // something slower was always on the path: it may be faster than it says
  kUnmeasured,  // as the tree said before
};
const char* RateDoubtName(RateDoubt doubt);  // bottleneck, tied, at-least, unmeasured

struct LinkFit {
  int64_t latency_ns = 0;
  int64_t latency_spread_ns = 0;  // of what the measurements that cross it say, around the fit; and their own
  LatencyDoubt latency_doubt = LatencyDoubt::kUnmeasured;
  int64_t bandwidth_bytes_per_s = 0;
  RateDoubt rate_doubt = RateDoubt::kUnmeasured;
};

struct TreeFit {
  std::vector<LinkFit> switches;  // of the link above each; the root's means nothing
  std::vector<LinkFit> nodes;
  int64_t latency_error_ns = 0;      // root mean square of measured minus fitted, over pairs
  int64_t latency_error_ns_max = 0;  // of the pair that fits worst
};

// Latency: weighted least squares over links that are not negative; a measurement weighs by the inverse square of its
// spread and a part of itself, and less if it is longer than the others let expect (Cauchy's weights, ten rounds),
// since disturbances only make it longer. Which links it determines follows from the tree: chains without a branch
// between measured nodes are one link. Rate: a path is as fast as its slowest link, so a link is at least as fast as
// the fastest path across it, and that is its rate where this explains a path that nothing else on it explains.
//
// Errors:  INVALID_ARGUMENT: a pair of one node, or of nodes that are not in the tree; negative figures.
// Cost:    O(steps * pairs * depth) by conjugate gradients, of at most some thousand steps, as a rule fewer than links.
absl::StatusOr<TreeFit> FitTree(const topology::Topology& tree, absl::Span<const PairMeasurement> measurements);

// Pairs to measure once more for their rates, since stalls only ever make a measurement slower: those that alone tell a
// link's rate (of all that cross it, no other is within 15 % of the fastest: nobody would notice if that one had been
// disturbed), and those slower than all of their links are known to be (they were).
//
// Input:   as FitTree's; pairs without a rate are left out.
// Output:  each pair once, in the order of `measurements`.
// Errors:  as FitTree.
absl::StatusOr<std::vector<NodePair>> DoubtfulRates(const topology::Topology& tree,
                                                    absl::Span<const PairMeasurement> measurements);

// The tree with the fit's figures in place of its own. Errors: as Topology::Create.
absl::StatusOr<topology::Topology> ApplyFit(const topology::Topology& tree, const TreeFit& fit);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_TREE_FIT_H_
