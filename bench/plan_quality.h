// SPDX-License-Identifier: Apache-2.0
//
// How good the planner's trees are, by the model: against the optimum, MGO and a lower bound.
#ifndef COPSE_BENCH_PLAN_QUALITY_H_
#define COPSE_BENCH_PLAN_QUALITY_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunPlanQuality(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_PLAN_QUALITY_H_
