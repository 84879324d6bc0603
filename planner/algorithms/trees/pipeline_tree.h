// SPDX-License-Identifier: Apache-2.0
//
// Builds a tree for long messages, which are sent through it in segments: nodes have few children, so that they soon
// can send the next segment.
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_PIPELINE_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_PIPELINE_TREE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Builds FCEF (earliest_completion_first.h) with at most `fanout` children per sender. A message of S segments takes
// about the tree's time for one segment, plus S - 1 times the time for which the busiest sender sends one segment to
// its children. A small fan-out bounds the second term, and the choice by earliest completion keeps the first one
// small. A fan-out of 1 gives a chain, in which each node sends to the nearest one without the message.
//
// Input:   `costs` of one segment; root < n; fanout >= 1.
// Output:  edges in the order of choice: the least ready_i + C_ij over senders with fewer than `fanout` children.
// Ties:    (score, sender, receiver).
// Cost:    O(n^2) queries of the costs if few nodes have their best offer from the same sender; O(n^3) at worst.
// Errors:  INVALID_ARGUMENT if fanout is 0. Nothing else.
// Source:  ours.
absl::StatusOr<BroadcastTree> BuildPipelineTree(const BroadcastCosts& costs, uint32_t root, uint32_t fanout);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_PIPELINE_TREE_H_
