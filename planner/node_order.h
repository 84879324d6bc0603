// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_NODE_ORDER_H_
#define COPSE_PLANNER_NODE_ORDER_H_

#include <cstdint>

#include "planner/algorithms/tree.h"
#include "planner/pricing/team_costs.h"

namespace copse::planner {

// Orders a team's nodes with the root first, such that nodes behind one switch are adjacent.
//
// Input:   root < costs.node_count(); CHECKed.
// Output:  the root; then the other nodes, those nearer to the root first: by falling depth of the lowest switch above
//          both, then depth first through the switches, then by index.
// Cost:    O(n log n + n * depth).          Errors: none.
// Source:  ours. The tree algorithms give contiguous ranges of the order to subtrees, so a subtree crosses few
//          switches.
NodeOrder OrderByTopology(const TeamCosts& costs, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_NODE_ORDER_H_
