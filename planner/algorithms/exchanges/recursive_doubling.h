// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_RECURSIVE_DOUBLING_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_RECURSIVE_DOUBLING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/exchanges/exchange.h"

namespace copse::planner {

// Builds recursive doubling: partners at distance 1, 2, 4, ... exchange and combine their partial results.
//
// Input:   `order`, n = its size. m: the largest power of two <= n; extra = n - m.
// Output:  steps. If extra > 0, round 1: of the first 2*extra positions each even one sends to the odd one after it,
//          and the last round: the odd one sends the result back, which replaces (combine = false). Between them the
//          m others (odd positions below 2*extra, and all from 2*extra on) exchange in log2 m rounds, numbered from
//          2, or from 1 if extra == 0; rounds are the same numbers at every node.
// Units:   nodes; no bytes or time.         Cost: O(n log n) time and memory.
// Errors:  INVALID_ARGUMENT from CheckOrder (tree.h). Nothing else.
// Source:  Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", Int. J. High
//          Performance Computing Applications 19 (2005), recursive doubling. Differs: rounds count from 1. Both
//          partners must combine in the same order of operands for equal results; the expansion ensures that.
absl::StatusOr<ExchangeSteps> BuildRecursiveDoubling(absl::Span<const uint32_t> order);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_RECURSIVE_DOUBLING_H_
