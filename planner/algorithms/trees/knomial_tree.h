// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_KNOMIAL_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_KNOMIAL_TREE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/tree.h"

namespace copse::planner {

// Builds the k-nomial tree (schedule::KnomialNeighbors).
//
// Input:   `order`, n = its size; k in [2, schedule::kNodeCountMax].
// Units:   nodes; no bytes or time.
// Errors:  INVALID_ARGUMENT from CheckOrder and CheckFanout. Nothing else.
// Source:  Wang, Zhang, Xie, Dong, triggered offload of reductions, fig. 3 (2-nomial and 4-nomial, 16 nodes); the
//          barrier model's example is the 4-nomial one. Differs: n need not be a power of k, as in these figures.
absl::StatusOr<Neighbors> BuildKnomialTree(absl::Span<const uint32_t> order, uint32_t k);

// Builds the binomial tree, the k-nomial tree of k = 2: the parent of position p is p with its lowest set bit cleared;
// depth and fan-out are at most ceil(log2 n). Errors: INVALID_ARGUMENT from CheckOrder.
// Source:  Li Chunhua, MGO, section 3.4 ("BT", as in MPICH: by relative ranks, largest distance first). Differs:
//          positions in `order` take the place of relative ranks.
absl::StatusOr<Neighbors> BuildBinomialTree(absl::Span<const uint32_t> order);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_KNOMIAL_TREE_H_
