// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_FALLING_TAIL_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_FALLING_TAIL_H_

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// The same tree with every sender's children served in the best order: by falling tail, L + receive + the child's own
// subtree's time. For one sender that is a machine with jobs (send + T) and delivery times (tails), for which the order
// by falling delivery time is optimal; a smaller subtree time never makes its parent's larger. So this is the fastest
// schedule of all that have this tree.
//
// Input:   a tree as CheckBroadcastTree wants it.
// Output:  edges by the end of the send. phase1_edges is 0.
// Ties:    children in the order that they had; edges in an order in which nobody sends before it receives.
// Cost:    O(n log n), and n queries of the costs.          Errors: none.
// Source:  Jackson's rule, of scheduling theory; that it fits here is the prototype's finding.
BroadcastTree WithFallingTails(const BroadcastCosts& costs, const BroadcastTree& tree);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_FALLING_TAIL_H_
