// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_BINOMIAL_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_BINOMIAL_TREE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/tree.h"

namespace copse::planner {

// Builds the binomial tree: position p hangs under p with its lowest set bit cleared.
//
// Input:   `order`, n = its size.           Output: neighbours; children by falling distance.
// Units:   nodes; no bytes or time.         Cost: O(n) time and memory. Depth and fan-out at most ceil(log2 n).
// Errors:  INVALID_ARGUMENT from CheckOrder. Nothing else.
// Source:  Li Chunhua, MGO, section 3.4 ("BT", as MPICH's: relative numbers, largest distance first). It is the
//          k-nomial tree of k = 2. Differs: relative numbers are positions in `order`.
absl::StatusOr<Neighbours> BuildBinomialTree(absl::Span<const uint32_t> order);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_BINOMIAL_TREE_H_
