// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_SCHEDULE_KNOMIAL_H_
#define COPSE_SCHEDULE_KNOMIAL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace copse::schedule {

// Builds the k-nomial tree: the parent of position p is p with its lowest nonzero digit, in base k, set to zero.
//
// Input:   `order`, a permutation of 0 ... n - 1: order[p] is the node at position p; k > 1. Not checked.
// Output:  each node's neighbors as Plan::neighbors: the parent, then the children by falling digit place, then by
//          rising digit, so that the largest subtrees are served first (but for the one that is cut at n). The subtree
//          of position p, whose lowest nonzero digit is at place j, is the contiguous range [p, p + k^j), cut at n.
// Cost:    O(n) time and memory. The depth is at most ceil(log_k n), the fan-out at most (k-1) * ceil(log_k n).
// Source:  see planner/algorithms/trees/knomial_tree.h.
std::vector<std::vector<uint32_t>> KnomialNeighbors(absl::Span<const uint32_t> order, uint32_t k);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_KNOMIAL_H_
