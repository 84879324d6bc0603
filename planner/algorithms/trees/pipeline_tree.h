// SPDX-License-Identifier: Apache-2.0
//
// A tree for long messages, which pass through it in segments: few children each, so that the next segment follows
// soon.
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_PIPELINE_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_PIPELINE_TREE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Chooses the edge that completes earliest, again and again (earliest_completion_first.h), with at most `fanout`
// children per sender. A message of S segments takes about the tree's time for one, plus S - 1 times the time that the
// busiest sender needs for its children; a small fan-out bounds the second term, and edges in order of completion keep
// the first small. A fan-out of 1 gives a chain from neighbor to neighbor.
//
// Input:   `costs` of one segment; root < n; fanout >= 1.
// Output:  edges in the order of choice: the least ready_i + C_ij over senders with less than `fanout` children.
// Ties:    (score, sender, receiver).
// Cost:    O(n^2) queries of the costs, as long as a sender's nearest receiver is seldom taken by another; O(n^3) at
//          worst.
// Errors:  INVALID_ARGUMENT if fanout is 0. Nothing else.
// Source:  ours.
absl::StatusOr<BroadcastTree> BuildPipelineTree(const BroadcastCosts& costs, uint32_t root, uint32_t fanout);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_PIPELINE_TREE_H_
