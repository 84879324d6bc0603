// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_EXCHANGES_RECURSIVE_DOUBLING_H_
#define COPSE_PLANNER_ALGORITHMS_EXCHANGES_RECURSIVE_DOUBLING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/exchanges/exchange.h"

namespace copse::planner {

// Builds recursive doubling: partners at distance 1, 2, 4, ... exchange and reduce their partial results.
//
// Input:   `order`, n = its size. Let m be the largest power of two <= n, and extra = n - m.
// Output:  the plan's steps. If extra > 0, each even one of the first 2*extra positions sends to the odd one after it
//          in round 1, and in the last round the odd one sends the result back, which replaces the even one's value. In
//          the rounds between, m positions (the odd ones below 2*extra, and all from 2*extra on) exchange in log2 m
//          rounds. These are numbered from 2 on, or from 1 if extra == 0. All nodes number rounds equally.
// Units:   nodes; no bytes or time.         Cost: O(n log n) time and memory.
// Errors:  INVALID_ARGUMENT from CheckOrder (tree.h). Nothing else.
// Source:  Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", Int. J. High
//          Performance Computing Applications 19 (2005), recursive doubling. Differs: rounds count from 1. Both
//          partners must reduce their operands in the same order for equal results; schedule/expand.h ensures that.
absl::StatusOr<ExchangeSteps> BuildRecursiveDoubling(absl::Span<const uint32_t> order);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_EXCHANGES_RECURSIVE_DOUBLING_H_
