// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_FLAT_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_FLAT_TREE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/tree.h"

namespace copse::planner {

// Builds the flat tree: the root is the parent of every other node.
//
// Input:   `order`, n = its size.           Output: neighbours; the root serves in the order of positions.
// Units:   nodes; no bytes or time.         Cost: O(n) time and memory. Depth 1, fan-out n-1.
// Errors:  INVALID_ARGUMENT from CheckOrder. Nothing else.
// Source:  Li Chunhua, MGO, section 3.4 ("FT", the flat tree). Differs: nothing.
absl::StatusOr<Neighbours> BuildFlatTree(absl::Span<const uint32_t> order);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_FLAT_TREE_H_
