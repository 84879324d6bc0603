// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_BEST_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_BEST_TREE_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Every algorithm is tried up to this many nodes.
inline constexpr uint32_t kBestThoroughNodesMax = BroadcastCosts::kMatrixNodesMax;

struct BestOptions {
  // Limit for the candidates that the search examines (tree_search.h); a million take about 10 ms. Negative: BestSteps
  // of the nodes. 0: no search.
  int64_t steps = -1;
};
int64_t BestSteps(uint32_t node_count);

// Builds the fastest tree that is known: takes every other algorithm's tree with its children by falling tail, and some
// trees in which racks without the message are urgent; then searches the fastest (up to 32 nodes: the fastest few) for
// moves that make it faster, and perturbs and searches it again until the budget is used up or no attempt has helped
// for long.
//
// Input:   root < n.
// Output:  edges breadth first. Never slower than any algorithm of broadcast_algorithms.h; above kBestThoroughNodesMax
//          nodes, than FT, BT, FCEF, MGO and MGO_jackson. The same on every machine.
// Cost:    that of its candidates, and the steps.     Errors: none.
// Source:  ours; the falling tails are Jackson's rule.
BroadcastTree BuildBest(const BroadcastCosts& costs, uint32_t root, const BestOptions& options = {});

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_BEST_TREE_H_
