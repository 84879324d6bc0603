// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_FALLING_TAIL_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_FALLING_TAIL_H_

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Returns `tree` with every sender's children served in the best order: by falling tail, which is L + receive + the
// time of the child's subtree. A sender is a machine with jobs (send + T) and delivery times (tails), for which the
// order by falling delivery time is optimal; and a shorter time of a subtree never makes that of its parent longer. So
// this is the fastest schedule that has the edges of `tree`.
//
// Input:   a tree that CheckBroadcastTree accepts.
// Output:  edges in order of the ends of their sends. phase1_edges is 0.
// Ties:    children keep their order in `tree`; of edges, a node's arrival comes before its sends.
// Cost:    O(n log n), and n queries of the costs.          Errors: none.
// Source:  Jackson's rule of scheduling theory, for one machine with delivery times.
BroadcastTree WithFallingTails(const BroadcastCosts& costs, const BroadcastTree& tree);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_FALLING_TAIL_H_
