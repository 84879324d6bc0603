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

// Selects pairs around each switch. The branches of a switch are its nodes, the switches below, and the rest of the
// tree above; one node represents each branch. A branch below has the same representative at all switches above, and a
// near node represents the rest of the tree. The first representative is paired with all others, and the second with
// the third. These distances determine the switch's distance to each of them, and so every link that any measurements
// between these nodes can determine. The selection is made twice, with different representatives where possible, since
// a value that is determined twice reveals errors, and is less affected by them.
//
// Input:   `nodes[i]` is true for each participating node index.
// Output:  pairs, each once, a < b; first those that cover links which no earlier one covers. Fewer than 4 * (nodes +
//          switches).
// Cost:    O((nodes + switches) * depth).
std::vector<NodePair> SampleTree(const topology::Topology& tree, const std::vector<bool>& nodes);

// Returns all pairs of the nodes, a < b, in rounds of pairs that share no node, which can be measured concurrently (the
// circle method of round-robin tournaments).
std::vector<NodePair> AllPairs(const std::vector<uint32_t>& nodes);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_SAMPLING_H_
