// SPDX-License-Identifier: Apache-2.0
//
// What an early return (T-NBC) costs: its steps alone, and the time in the call.
#ifndef COPSE_BENCH_TNBC_COST_H_
#define COPSE_BENCH_TNBC_COST_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunTnbcCost(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_TNBC_COST_H_
