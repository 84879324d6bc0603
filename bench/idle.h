// SPDX-License-Identifier: Apache-2.0
//
// What Copse costs while nobody calls it.
#ifndef COPSE_BENCH_IDLE_H_
#define COPSE_BENCH_IDLE_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunIdle(const Options& options, const std::function<void(const Row&)>& report);

// Of the line through the points (x, y) with the least squares. At least two different x.
double Slope(const std::vector<std::pair<double, double>>& points);

}  // namespace copse::bench

#endif  // COPSE_BENCH_IDLE_H_
