// SPDX-License-Identifier: Apache-2.0
//
// Measured topologies against what the emulated network was told.
#ifndef COPSE_BENCH_PROBE_H_
#define COPSE_BENCH_PROBE_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunProbe(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_PROBE_H_
