// SPDX-License-Identifier: Apache-2.0
//
// Collectives over a wide area: what knowing the network is worth.
#ifndef COPSE_BENCH_HETERO_H_
#define COPSE_BENCH_HETERO_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunHetero(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_HETERO_H_
