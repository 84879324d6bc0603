// SPDX-License-Identifier: Apache-2.0
//
// Selects the pairs of nodes to measure, so that every link of a tree is determined, at a cost that is linear in the
// nodes.
#ifndef COPSE_PLANNER_MEASURE_SAMPLING_H_
#define COPSE_PLANNER_MEASURE_SAMPLING_H_

#include <cstdint>
#include <vector>

#include "planner/measure/measurement.h"
#include "planner/topology/topology.h"

namespace copse::measure {

// Selects pairs around each switch, where one node represents each of its branches (its nodes, the switches below, all
// that is above); a branch has the same representative wherever it is seen from below, and the nearest node represents
// the part above. The first representative is measured against all others, and the second against the third. These
// distances determine the switch's distance to each of them, and with it every link that any measurements between these
// nodes could determine. The selection is made twice, with different representatives where possible: a value that is
// determined twice reveals errors, and suffers less from them.
//
// Input:   `nodes[i]` is true for each participating node index.
// Output:  pairs, each once, a < b; those that cover links not yet covered first. Fewer than 4 * (nodes + switches).
// Cost:    O((nodes + switches) * depth).
std::vector<NodePair> SampleTree(const topology::Topology& tree, const std::vector<bool>& nodes);

// Returns all pairs of the nodes, in rounds of pairs that share no node (the circle method of round-robin tournaments).
std::vector<NodePair> AllPairs(const std::vector<uint32_t>& nodes);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_SAMPLING_H_
