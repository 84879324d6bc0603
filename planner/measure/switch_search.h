// SPDX-License-Identifier: Apache-2.0
//
// Finds a tree of switches from latencies alone, where no description exists.
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

// Limit for measuring all pairs; in larger clusters so many nodes represent the rest.
inline constexpr uint32_t kAllPairsNodesMax = 40;
// Number of representatives against which every other node is measured.
inline constexpr uint32_t kLandmarksMax = 12;
inline constexpr uint32_t kSearchNodesMax = 512;

// Finds the tree over `nodes` (names; one to kSearchNodesMax) that explains the latencies between all of them.
//
// Neighbors are joined by Saitou and Nei's method, which finds every tree from exact distances, whether or not its
// leaves are equally deep. Then levels are found by gaps: a link between switches is no level if it adds less than a
// twentieth to every path across it (a hundredth where measurements agree: it is eight times the tree's fit error), or
// less than twice the measurements' spread; its ends become one switch. The root is the switch nearest to the middle of
// the longest path; it is named "core", the others "sw1", "sw2", ... in the order of a walk from it. A real switch with
// only two links cannot be detected.
//
// Output:  the links' figures are the method's own, a first guess: fit the tree for better ones. Nodes keep their
//          order. Other figures are FlatCosts'.
// Errors:  INVALID_ARGUMENT: too many nodes, a pair that is missing, measured twice, or of nodes that do not exist.
// Source:  Saitou, Nei, "The neighbor-joining method", Mol. Biol. Evol. 4 (1987); Q as of Studier, Keppler (1988).
// Cost:    O(nodes^3).
absl::StatusOr<topology::Topology> FindTree(absl::Span<const std::string> nodes,
                                            absl::Span<const PairMeasurement> measurements);

// Returns up to kLandmarksMax nodes of the tree, one for each switch that has nodes, spread over the tree if there are
// more.
std::vector<uint32_t> Landmarks(const topology::Topology& tree);

// Adds nodes to the tree, each on the switch of its nearest landmark: `more[i]` by the measurements whose pair is
// {i, a landmark's index in the tree}. A node without any is left out, and not in `names`.
//
// Errors: INVALID_ARGUMENT: a pair out of range; those of Topology::Create.
absl::StatusOr<topology::Topology> AttachNodes(const topology::Topology& tree, absl::Span<const std::string> more,
                                               absl::Span<const PairMeasurement> measurements);

// Returns whether both have the same nodes (by name) and group them in the same way: each link between switches
// separates the nodes into the same two sets. Switches with two links, and the choice of the root, make no difference.
bool SameTree(const topology::Topology& a, const topology::Topology& b);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_SWITCH_SEARCH_H_
