// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_FASTEST_NODE_FIRST_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_FASTEST_NODE_FIRST_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Builds FNF: nodes receive in order of speed, the fastest first, each from the sender that reaches it earliest.
//
// Input:   root < n.
// Output:  edges in the order of choice.
// Ties:    nodes by (send + receive, index); senders by (arrival, index).
// Cost:    O(n^2) queries of the costs.          Errors: none.
// Source:  Banikazemi, Moorthy, Panda, "Efficient collective communication on heterogeneous networks of workstations",
//          ICPP 1998. Differs: senders are compared by the time of arrival, since paths have different costs here.
BroadcastTree BuildFastestNodeFirst(const BroadcastCosts& costs, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_FASTEST_NODE_FIRST_H_
