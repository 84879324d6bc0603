// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_KARY_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_KARY_TREE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/tree.h"

namespace copse::planner {

// Builds the balanced k-ary tree: every node has at most k children.
//
// Input:   `order`, n = its size; k in [2, schedule::kNodeCountMax].
// Output:  each node's neighbors. The positions after the root are cut into at most k contiguous ranges, larger ones
//          first, and each range is such a tree again. So every subtree is contiguous, and a rack's nodes, which are
//          contiguous in `order`, stay close in the tree.
// Units:   nodes; no bytes or time.
// Cost:    O(n) time and memory. The fan-out is at most k; the depth is the least d with 1 + k + ... + k^d >= n.
// Errors:  INVALID_ARGUMENT from CheckOrder and CheckFanout. Nothing else.
// Source:  Wang, Zhang, Xie, Dong, triggered offload of reductions, fig. 4 (2-ary and 4-ary, 16 nodes). Differs:
//          numbered depth first, not level by level, and the levels below the last full one are spread evenly.
absl::StatusOr<Neighbors> BuildKaryTree(absl::Span<const uint32_t> order, uint32_t k);

// Builds the chain, the k-ary tree of k = 1: every node has one child, the next in the order. It is slow for a short
// message, but every node sends the segments of a long one only once. Errors: INVALID_ARGUMENT from CheckOrder.
absl::StatusOr<Neighbors> BuildChainTree(absl::Span<const uint32_t> order);

// Builds the flat tree, the k-ary tree of k = n: the root is the parent of every other node, and serves them in the
// order of positions. Errors: INVALID_ARGUMENT from CheckOrder.
// Source:  Li Chunhua, MGO, section 3.4 ("FT", the flat tree).
absl::StatusOr<Neighbors> BuildFlatTree(absl::Span<const uint32_t> order);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_KARY_TREE_H_
