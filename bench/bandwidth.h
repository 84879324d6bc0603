// SPDX-License-Identifier: Apache-2.0
//
// Collectives of 64 MiB, beside what their links can carry and beside MPI libraries.
#ifndef COPSE_BENCH_BANDWIDTH_H_
#define COPSE_BENCH_BANDWIDTH_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunBandwidth(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_BANDWIDTH_H_
