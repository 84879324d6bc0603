// SPDX-License-Identifier: Apache-2.0
//
// Finds a tree of switches from latencies alone, for a cluster without a description.
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

// All pairs are measured between up to this many nodes; in larger clusters, this many nodes represent the rest.
inline constexpr uint32_t kAllPairsNodesMax = 40;
// Every other node is measured to at most this many representatives.
inline constexpr uint32_t kLandmarksMax = 12;
inline constexpr uint32_t kSearchNodesMax = 512;

// Finds the tree over `nodes` (names; one to kSearchNodesMax) that explains the latencies between all of them.
//
// Neighbors are joined by Saitou and Nei's method, which finds every tree from exact distances, whether or not the
// leaves are equally deep. Then the two switches of a link are merged if the link's latency is too short to be real:
// less than a twentieth of the shortest path across it (or a hundredth, if it is at least eight times the tree's fit
// error), or less than twice the median spread of the measurements. The root is the switch nearest to the middle of the
// longest path; it is named "core", the others "sw1", "sw2", ... in the order of a walk from the root. A real switch
// with only two links cannot be detected.
//
// Output:  a tree whose nodes keep their order. The links' latencies are a first guess of the method; FitTree gives
//          better ones. Other figures are those of FlatCosts.
// Errors:  INVALID_ARGUMENT for no nodes or too many, a negative latency, and a pair that is missing, measured twice,
//          or of nodes that do not exist.
// Source:  Saitou, Nei, "The neighbor-joining method", Mol. Biol. Evol. 4 (1987); Q as of Studier, Keppler (1988).
// Cost:    O(nodes^3).
absl::StatusOr<topology::Topology> FindTree(absl::Span<const std::string> nodes,
                                            absl::Span<const PairMeasurement> measurements);

// Returns one node for each switch that has nodes, or kLandmarksMax of them, spread over the tree, if there are more.
std::vector<uint32_t> Landmarks(const topology::Topology& tree);

// Returns the tree with the nodes `more` added behind the others, each on the switch of its nearest landmark: more[i]
// by the measurements whose pair is {i, a landmark's index in the tree}. A node without a measurement is left out.
//
// Errors: INVALID_ARGUMENT for a pair out of range; those of Topology::Create.
absl::StatusOr<topology::Topology> AttachNodes(const topology::Topology& tree, absl::Span<const std::string> more,
                                               absl::Span<const PairMeasurement> measurements);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_SWITCH_SEARCH_H_
