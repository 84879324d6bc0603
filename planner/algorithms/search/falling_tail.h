// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_FALLING_TAIL_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_FALLING_TAIL_H_

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Returns the same tree with every sender's children served in the best order: by falling tail, L + receive + the
// child's own subtree's time. One sender is a machine with jobs (send + T) and delivery times (tails), for which the
// order by falling delivery time is optimal; a smaller subtree time never makes its parent's larger. So this is the
// fastest schedule of all that have this tree.
//
// Input:   a tree that CheckBroadcastTree accepts.
// Output:  edges by the end of the send. phase1_edges is 0.
// Ties:    children in their previous order; edges in an order in which every node receives before it sends.
// Cost:    O(n log n), and n queries of the costs.          Errors: none.
// Source:  Jackson's rule, of scheduling theory; the prototype showed that it applies here.
BroadcastTree WithFallingTails(const BroadcastCosts& costs, const BroadcastTree& tree);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_FALLING_TAIL_H_
