// SPDX-License-Identifier: Apache-2.0
//
// MGO and FCEF computed on the cluster's tree, for a million nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_GREEDY_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_GREEDY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Builds one-to-many MGO: exactly BuildMgoPlainly's edges.
//
// Input:   root < n.
// Output:  edges in the order of choice; phase1_edges.
// Ties:    those of BuildMgoPlainly.
// Cost:    O(n * depth * log n) time, O(n + switches) memory (pair_tournament.h), when helpers are lost at the pace of
//          the search; a sub-cluster whose helpers have many different rates can cost its senders one lookup each.
// Errors:  none.
// Source:  mgo.h. The search for the pair is a tournament; a sender's helper is updated only when the sender is about
//          to win, since losing a helper makes a sender more expensive, except when it was the last.
BroadcastTree BuildMgo(const BroadcastCosts& costs, uint32_t root);

// Builds FCEF with sound accounting: exactly BuildEarliestCompletionFirst's edges. `receiver_bias_ns`, if not empty,
// has n figures, 0 or more, that are added to a receiver's score. `urgency_ns`, if not empty, has a figure for each
// vertex, 0 or more; a switch's figure is subtracted from the score of the first message below that switch; the figures
// on the way to any node add up to no more than a broadcast may take.
//
// Input:   root < n.
// Cost:    O(n * depth * log n) time, O(n + switches) memory.
BroadcastTree BuildEarliestCompletionOnTree(const BroadcastCosts& costs, uint32_t root,
                                            absl::Span<const int64_t> receiver_bias_ns = {},
                                            absl::Span<const int64_t> urgency_ns = {});

// Returns how long the sub-cluster of each switch takes in `tree` from its first arrival to its last, minus the time of
// the slowest switch below it; it serves as urgency_ns, whole or scaled down. 0 for nodes.
std::vector<int64_t> UrgencyOf(const BroadcastCosts& costs, const BroadcastTree& tree);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_GREEDY_H_
