// SPDX-License-Identifier: Apache-2.0
//
// What a collective in the background takes from an application that computes.
#ifndef COPSE_BENCH_NOISE_H_
#define COPSE_BENCH_NOISE_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunNoise(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_NOISE_H_
