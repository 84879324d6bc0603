// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_OPTIMAL_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_OPTIMAL_TREE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

inline constexpr uint32_t kOptimalNodesMax = 8;

// Builds the fastest schedule, by trying every tree with each node's children by falling tail (falling_tail.h).
//
// Input:   n <= kOptimalNodesMax; root < n.
// Output:  edges in order of the ends of their sends.
// Ties:    the tree whose Pruefer sequence comes first.
// Cost:    n^(n-2) trees, O(n^2) each: 16,807 for n = 7, 262,144 for n = 8.
// Errors:  INVALID_ARGUMENT if there are more than kOptimalNodesMax nodes. Nothing else.
// Source:  Pruefer's bijection. Only schedules in which nodes send without pauses are tried; none of the others is
//          faster, since an earlier send delays no node.
absl::StatusOr<BroadcastTree> BuildOptimal(const BroadcastCosts& costs, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_OPTIMAL_TREE_H_
