// SPDX-License-Identifier: Apache-2.0
//
// A tree of switches found from latencies alone, where nobody has said one.
#ifndef COPSE_PLANNER_MEASURE_SWITCH_SEARCH_H_
#define COPSE_PLANNER_MEASURE_SWITCH_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/measure/measurement.h"
#include "planner/topology/topology.h"

namespace copse::measure {

// So many nodes are measured all against all; of larger clusters so many stand for the rest.
inline constexpr uint32_t kAllPairsNodesMax = 40;
// And every other node is measured against so many of them.
inline constexpr uint32_t kLandmarksMax = 12;
inline constexpr uint32_t kSearchNodesMax = 512;

// Finds the tree over `nodes` (names; one to kSearchNodesMax) that explains the latencies between all of them.
//
// Neighbours are joined by Saitou and Nei's method, which finds every tree from exact distances, whether or not its
// leaves are equally deep. Then levels are found by gaps: a link between switches that adds less than a twentieth to
// every path across it (where measurements agree on it, a hundredth: it is eight times what the tree misses them by),
// or less than twice the measurements' spread, is no level, and its ends become one switch. The root is the switch
// nearest to the middle of the longest path; it is named "core", the others "sw1", "sw2", ... in the order of a walk
// from it. A switch of the cluster that only passes on (two links) cannot be seen.
//
// Output:  figures of links are the method's own, a first guess: fit the tree for better ones. Nodes keep their order.
//          Other figures are FlatCosts'.
// Errors:  INVALID_ARGUMENT: too many nodes, a pair that is missing, measured twice, or of nodes that do not exist.
// Source:  Saitou, Nei, "The neighbor-joining method", Mol. Biol. Evol. 4 (1987); Q as of Studier, Keppler (1988).
// Cost:    O(nodes^3).
absl::StatusOr<topology::Topology> FindTree(absl::Span<const std::string> nodes,
                                            absl::Span<const PairMeasurement> measurements);

// Up to kLandmarksMax nodes of the tree, one for each switch that has nodes, spread over the tree if there are more.
std::vector<uint32_t> Landmarks(const topology::Topology& tree);

// The tree with more nodes, each on the switch of the landmark that is nearest to it: `more[i]` by the measurements
// whose pair is {i, a landmark's index in the tree}. A node without any is left out, and not in `names`.
//
// Errors: INVALID_ARGUMENT: a pair out of range; as Topology::Create.
absl::StatusOr<topology::Topology> AttachNodes(const topology::Topology& tree, absl::Span<const std::string> more,
                                               absl::Span<const PairMeasurement> measurements);

// Whether both have the same nodes (by name) and group them in the same way: each link between switches parts the nodes
// into the same two sets. Switches that only pass on, and which switch is the root, make no difference.
bool SameTree(const topology::Topology& a, const topology::Topology& b);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_SWITCH_SEARCH_H_
