// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_CHAIN_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_CHAIN_TREE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/tree.h"

namespace copse::planner {

// Builds the chain: every node has one child, the next in the order. It is slow for a short message; a long one, in
// segments, crosses every link only once.
//
// Input:   `order`, n = its size.           Output: neighbours.
// Units:   nodes; no bytes or time.         Cost: O(n) time and memory. Depth n-1, fan-out 1.
// Errors:  INVALID_ARGUMENT from CheckOrder. Nothing else.
// Source:  the k-ary tree of kary_tree.h for k = 1, which BuildKaryTree refuses.
absl::StatusOr<Neighbours> BuildChainTree(absl::Span<const uint32_t> order);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_CHAIN_TREE_H_
