// SPDX-License-Identifier: Apache-2.0
//
// MGO and FCEF straight from the cluster's tree, for a million nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_GREEDY_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_GREEDY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// One-to-many MGO: exactly BuildMgoPlainly's edges.
//
// Input:   costs.has_tree(); root < n.
// Output:  edges in the order of choice; phase1_edges.
// Ties:    as BuildMgoPlainly.
// Cost:    O(n * depth * log n) time, O(n + switches) memory (pair_tournament.h), when helpers are lost at the pace of
//          the search; a sub-cluster whose helpers have many different rates can cost its senders a look each.
// Errors:  none.
// Source:  mgo.h. The search for the pair is a tournament; a sender's helper is brought up to date only when the sender
//          is about to win, since a helper that is lost makes it dearer, except when it was the last.
BroadcastTree BuildMgo(const BroadcastCosts& costs, uint32_t root);

// Many-to-one MGO is the mirror image: A holds those that still receive, B1 and B2 candidate senders, times run
// backwards from the end. Occupancy, mirrored: a receiver is busy for receive_r + T for each message, and not for the
// time between; a sender is busy for send_s, and its message's head is at the receiver L later. So what the paper does
// with o_s + T of a sender happens here to the receiver, and the edges of the broadcast with overheads exchanged are
// those of the many-to-one, each turned round and in reverse order (ManyToOneCompletion).
//
// Output:  as a broadcast's: `from` receives from `to`. completion_ns is ManyToOneCompletion's.
BroadcastTree BuildMgoManyToOne(const BroadcastCosts& costs, uint32_t root);

// FCEF, sound: exactly BuildEarliestCompletionFirst's edges. `receiver_bias_ns`, if not empty, has n figures that are
// added to a receiver's score: 0 or more. `urgency_ns`, if not empty, has a figure for each vertex, of which those of
// switches are subtracted from the score of the first message below that switch: 0 or more; those on the way to any
// node add up to no more than a broadcast may take.
//
// Input:   costs.has_tree(); root < n.
// Cost:    O(n * depth * log n) time, O(n + switches) memory.
BroadcastTree BuildEarliestCompletionOnTree(const BroadcastCosts& costs, uint32_t root,
                                            absl::Span<const int64_t> receiver_bias_ns = {},
                                            absl::Span<const int64_t> urgency_ns = {});

// How long the sub-cluster of each switch takes in `tree` from its first arrival to its last, less what the slowest
// switch below it takes: to be used as urgency_ns, or a part of it. 0 for nodes.
std::vector<int64_t> UrgencyOf(const BroadcastCosts& costs, const BroadcastTree& tree);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_TREE_GREEDY_H_
