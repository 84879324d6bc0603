// SPDX-License-Identifier: Apache-2.0
//
// The planner's cost model against real processes: calibrated on pings and one flat tree, judged on the rest.
#ifndef COPSE_BENCH_MODEL_H_
#define COPSE_BENCH_MODEL_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunModel(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_MODEL_H_
