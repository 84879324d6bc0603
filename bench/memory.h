// SPDX-License-Identifier: Apache-2.0
//
// What daemons hold while calls run, beside the limit that they are given.
#ifndef COPSE_BENCH_MEMORY_H_
#define COPSE_BENCH_MEMORY_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunMemory(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_MEMORY_H_
