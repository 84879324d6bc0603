// SPDX-License-Identifier: Apache-2.0
//
// What becomes of running calls when the network changes and their team is replanned.
#ifndef COPSE_BENCH_REPLAN_H_
#define COPSE_BENCH_REPLAN_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunReplan(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_REPLAN_H_
