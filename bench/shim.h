// SPDX-License-Identifier: Apache-2.0
//
// What stands in front of an MPI costs where it has nothing to do.
#ifndef COPSE_BENCH_SHIM_H_
#define COPSE_BENCH_SHIM_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunShim(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_SHIM_H_
