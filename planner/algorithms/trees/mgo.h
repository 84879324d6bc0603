// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_MGO_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_MGO_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Builds one-to-many MGO step by step, following the paper, for tests and for readers of the paper. BuildMgo
// (tree_greedy.h) gives the same edges faster.
//
// Each switch has a sub-cluster, the nodes below it, which is marked when one of its nodes has the message. The level
// is the least depth at which a switch has an unmarked sub-cluster. While there is one, a sender s first sends to a
// helper r2 in its own sub-cluster of that level, if a node there is without the message, and then to r1 in an unmarked
// sub-cluster of that level; the pair (s, r1) is chosen for which r1 has the message earliest. The remaining nodes are
// served by earliest completion.
//
// Input:   root < n.
// Output:  edges in the order of choice; the first phase1_edges of them come from lines [3]-[20].
// Ties:    the helper of a sender by (T, L + receive, index); other choices by (arrival, sender, receiver).
// Cost:    O(n^3) queries of the costs.          Errors: none.
// Source:  Li Chunhua, "MGO: an optimisation of collective communication for heterogeneous clusters", section 3.3,
//          lines [1]-[30]. Where the paper is unclear, this follows: [15], [17] and [29] assign one after the other;
//          (m+1) in [25] is (m-1); the level is recomputed at [2] and [20]; MNC is taken before marking; a sender
//          without an ancestor at the level has no helpers. Differs: a node's overheads to send and to receive may
//          differ.
BroadcastTree BuildMgoPlainly(const BroadcastCosts& costs, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_MGO_H_
