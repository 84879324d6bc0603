// SPDX-License-Identifier: Apache-2.0
//
// Small collectives of Copse and its peers, on nodes that idle and on nodes that compute.
#ifndef COPSE_BENCH_LATENCY_H_
#define COPSE_BENCH_LATENCY_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunLatency(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_LATENCY_H_
