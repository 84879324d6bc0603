// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_MGO_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_MGO_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Builds one-to-many MGO step by step, following the paper. It serves tests, and readers of the paper; tree_greedy.h
// gives the same edges fast.
//
// Sub-clusters belong to switches; a sub-cluster is marked once one of its nodes has the message. The current level is
// the least depth with an unmarked sub-cluster. While there is one, a sender s sends first to a helper r2 in its own
// sub-cluster of that level, if a node there is without the message, then to r1 in an unmarked sub-cluster of that
// level; the pair is chosen for which r1 has it earliest. The remaining nodes are served by earliest completion.
//
// Input:   root < n.
// Output:  edges in the order of choice; phase1_edges of them from lines [3]-[20].
// Ties:    r2 of a sender by (T, L + receive, index), else (arrival at r1, sender, r1).
// Cost:    O(n^3) queries of the costs.          Errors: none.
// Source:  Li Chunhua, "MGO: an optimisation of collective communication for heterogeneous clusters", section 3.3,
//          lines [1]-[30]. Read so: [15], [17] and [29] assign one after the other; (m+1) in [25] is (m-1); the level
//          is computed anew at [2] and [20]; MNC is taken before marking; a sender without an ancestor at that level
//          has no helpers. Differs: nodes have an overhead to send and one to receive, which may differ.
BroadcastTree BuildMgoPlainly(const BroadcastCosts& costs, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_MGO_H_
