// SPDX-License-Identifier: Apache-2.0
//
// Computes latencies and bandwidths of a known tree's links from measurements between its nodes.
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
  kMeasured,    // the measurements determine it
  kShared,      // only its sum with other links is determined, and divided in the proportions of the tree before
  kUnmeasured,  // no measurement crosses the link: unchanged from the tree
};
const char* LatencyDoubtName(LatencyDoubt doubt);  // returns "measured", "shared" or "unmeasured"

// RateDoubt is the certainty of a link's bandwidth.
enum class RateDoubt : uint8_t {
  kBottleneck,  // the link is the slowest one between two measured nodes
  kTied,        // the link is as slow as others on the same path, so any of them may limit the bandwidth
  kAtLeast,     // a slower link was on every path, so this one may be faster than stated
  kUnmeasured,  // no measurement crosses the link: unchanged from the tree
};
const char* RateDoubtName(RateDoubt doubt);  // returns "bottleneck", "tied", "at-least" or "unmeasured"

struct LinkFit {
  int64_t latency_ns = 0;
  int64_t latency_spread_ns = 0;  // weighted root mean square of residuals across it, plus the least spread of a pair
  LatencyDoubt latency_doubt = LatencyDoubt::kUnmeasured;
  int64_t bandwidth_bytes_per_s = 0;
  RateDoubt rate_doubt = RateDoubt::kUnmeasured;
};

struct TreeFit {
  std::vector<LinkFit> switches;     // by switch: the link above; the root's is unused
  std::vector<LinkFit> nodes;        // by node: the link above
  int64_t latency_error_ns = 0;      // root mean square of measured minus fitted, over pairs
  int64_t latency_error_ns_max = 0;  // absolute error of the pair that fits worst
};

// Latencies are fitted by weighted least squares, with no link below zero. A measurement's weight is the inverse square
// of an error made of 1 us, its spread and a share of its value; it is reduced if the measurement is longer than the
// others suggest (Cauchy's weights, up to ten rounds), since disturbances only lengthen a latency. Links that all
// measurements cross together, or not at all, are fitted as one. A path's bandwidth is that of its slowest link: so a
// link has at least the bandwidth of the fastest path across it, and exactly that if no other link explains one of
// these paths.
//
// Errors:  INVALID_ARGUMENT for a pair of one node, or of nodes that are not in the tree, and for negative figures.
// Cost:    O(steps * pairs * depth) by conjugate gradients, of at most some thousand steps, as a rule fewer than links.
absl::StatusOr<TreeFit> FitTree(const topology::Topology& tree, absl::Span<const PairMeasurement> measurements);

// Returns pairs whose bandwidths should be measured once more, since a stall only ever makes a measurement slower:
// pairs that alone determine a link's bandwidth (of all that cross the link, no other is within 15 % of the fastest, so
// a disturbance of the fastest would not be noticed), and pairs that are slower than all of their links (which were
// disturbed).
//
// Input:   as of FitTree; pairs without a bandwidth are left out.
// Output:  each pair once, in the order of `measurements`.
// Errors:  those of FitTree.
absl::StatusOr<std::vector<NodePair>> DoubtfulRates(const topology::Topology& tree,
                                                    absl::Span<const PairMeasurement> measurements);

// Returns the tree with the fit's figures; latencies are at least 1 ns, and unmeasured figures stay. `fit` must be of a
// tree with as many switches and nodes. Errors: those of Topology::Create.
absl::StatusOr<topology::Topology> ApplyFit(const topology::Topology& tree, const TreeFit& fit);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_TREE_FIT_H_
