// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_SEARCH_BEST_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_SEARCH_BEST_TREE_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// BuildBest tries all of its algorithms up to this many nodes, and only the fast ones beyond.
inline constexpr uint32_t kBestThoroughNodesMax = BroadcastCosts::kMatrixNodesMax;

struct BestOptions {
  // Limits the steps of the search (tree_search.h); a million take about 10 ms. Negative: BestSteps(n). 0: no search.
  int64_t steps = -1;
};
// Returns the default limit of the steps for this many nodes.
int64_t BestSteps(uint32_t node_count);

// Builds the fastest tree that we can find. It takes the trees of many algorithms with their children by falling tail,
// and some trees in which racks without the message are urgent. It then searches the fastest one (up to 32 nodes: the
// fastest few) for moves that make it faster, and perturbs and searches it again until the steps are used up or no
// attempt has helped for long.
//
// Input:   root < n.
// Output:  edges in an order in which every node receives before it sends; equal on every machine. The tree is never
//          slower than those of FT, BT, FCEF, MGO and MGO_jackson and, up to kBestThoroughNodesMax nodes, of FNF, FEF,
//          FCEF_bhat, LA, LA_bhat, k-ary trees with k = 2, 3, 4, 8, 16 and k-nomial trees with k = 3, 4, 8, 16.
// Cost:    that of these algorithms, and of the steps.     Errors: none.
// Source:  ours; the falling tails are Jackson's rule.
BroadcastTree BuildBest(const BroadcastCosts& costs, uint32_t root, const BestOptions& options = {});

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_SEARCH_BEST_TREE_H_
