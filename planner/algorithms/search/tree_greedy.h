// SPDX-License-Identifier: Apache-2.0
//
// Computes MGO and FCEF on the cluster's tree, fast enough for a million nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_GREEDY_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_GREEDY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Builds one-to-many MGO, with exactly the edges of BuildMgoPlainly (mgo.h).
//
// Input:   root < n.
// Output:  edges in the order of choice, and phase1_edges, as BuildMgoPlainly.
// Cost:    O(n * depth * log n) time if only a few helpers have to be looked up again for each edge; O(n + switches)
//          memory (pair_tournament.h). If the helpers of a sub-cluster have many different rates, each of its senders
//          may need a lookup for each of them.
// Errors:  none.
// Source:  mgo.h. The pair is found by a PairTournament. A sender's helper is looked up again only when the sender is
//          about to win, since the loss of a helper makes a sender more expensive, unless it was the last one.
BroadcastTree BuildMgo(const BroadcastCosts& costs, uint32_t root);

// Builds FCEF with Accounting::kSound, with exactly the edges of BuildEarliestCompletionFirst if both spans are empty.
// Otherwise `receiver_bias_ns` has a figure >= 0 by node, which is added to the score of edges to that node.
// `urgency_ns` has a figure >= 0 by vertex; that of a switch is subtracted from the scores of edges to nodes below it
// until one of these has the message. On the path from the top to any node the figures must add up to at most 2^61.
//
// Input:   root < n.                                          Errors: none.
// Output:  edges in the order of choice.
// Cost:    O(n * depth * log n) time, O(n + switches) memory.
BroadcastTree BuildEarliestCompletionOnTree(const BroadcastCosts& costs, uint32_t root,
                                            absl::Span<const int64_t> receiver_bias_ns = {},
                                            absl::Span<const int64_t> urgency_ns = {});

// Returns, by vertex, figures for urgency_ns: for a switch the time between the first and the last arrival at the nodes
// below it in `tree`, less the greatest sum of the figures on a path down from it; 0 for nodes. The tree must be
// checked.
std::vector<int64_t> UrgencyOf(const BroadcastCosts& costs, const BroadcastTree& tree);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_GREEDY_H_
