// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_BENCH_SCALE_H_
#define COPSE_BENCH_SCALE_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

// Every collective with tens of thousands of ranks, simulated: engines on a made-up network
// (cli/sim/cluster/plan_run.h). Virtual times, connections and memory of daemons; the same on every machine.
absl::Status RunScale(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_SCALE_H_
