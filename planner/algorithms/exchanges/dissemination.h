// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_DISSEMINATION_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_DISSEMINATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/exchanges/exchange.h"

namespace copse::planner {

// Builds the dissemination barrier: in round r (from 1), position p signals p + 2^(r-1) mod n and awaits p - 2^(r-1)
// mod n.
//
// Input:   `order`, n = its size.           Output: the plan's steps, ceil(log2 n) of them at every node.
// Units:   nodes; no bytes or time.         Cost: O(n log n) time and memory.
// Errors:  INVALID_ARGUMENT from CheckOrder (tree.h). Nothing else.
// Source:  Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", Int. J. Parallel Programming 17
//          (1988), the dissemination barrier. Differs: rounds count from 1. It serves barriers only: unless n is a
//          power of two, a node gets some nodes' signals twice, so the schedule cannot reduce.
absl::StatusOr<ExchangeSteps> BuildDissemination(absl::Span<const uint32_t> order);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_DISSEMINATION_H_
