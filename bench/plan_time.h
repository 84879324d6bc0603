// SPDX-License-Identifier: Apache-2.0
//
// How long a tree takes to make, from the cluster's topology, on one core.
#ifndef COPSE_BENCH_PLAN_TIME_H_
#define COPSE_BENCH_PLAN_TIME_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunPlanTime(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_PLAN_TIME_H_
