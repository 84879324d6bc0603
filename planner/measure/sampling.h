// SPDX-License-Identifier: Apache-2.0
//
// Which pairs of nodes to measure, so that every link of a tree can be told, at a cost that is linear in the nodes.
#ifndef COPSE_PLANNER_MEASURE_SAMPLING_H_
#define COPSE_PLANNER_MEASURE_SAMPLING_H_

#include <cstdint>
#include <vector>

#include "planner/measure/measurement.h"
#include "planner/topology/topology.h"

namespace copse::measure {

// Around each switch, one node stands for each of its branches (its nodes, the switches below, all that is above); the
// same node for a branch wherever the branch is seen from below, the nearest there is for what is above. Measured are
// the first against all others, and the second against the third. So distances from the switch to all of them are
// determined, and with them every link that any measurements between these nodes could determine. All that twice, with
// other nodes standing where there are others: what is determined twice shows errors, and suffers less from them.
//
// Input:   node indices that take part, `nodes[i]` true.
// Output:  pairs, each once, a < b; those that cover links not yet covered first. Fewer than 4 * (nodes + switches).
// Cost:    O((nodes + switches) * depth).
std::vector<NodePair> SampleTree(const topology::Topology& tree, const std::vector<bool>& nodes);

// All pairs of the nodes, in rounds of pairs that share no node (the circle method of round-robin tournaments).
std::vector<NodePair> AllPairs(const std::vector<uint32_t>& nodes);

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_SAMPLING_H_
