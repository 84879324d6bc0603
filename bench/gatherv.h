// SPDX-License-Identifier: Apache-2.0
//
// Gatherv beside Gather and beside linear ones: what roots bear, and what irregular counts cost.
#ifndef COPSE_BENCH_GATHERV_H_
#define COPSE_BENCH_GATHERV_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunGatherv(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_GATHERV_H_
