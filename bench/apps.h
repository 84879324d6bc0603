// SPDX-License-Identifier: Apache-2.0
//
// Programs that others wrote, whole, on their MPI and on Copse.
#ifndef COPSE_BENCH_APPS_H_
#define COPSE_BENCH_APPS_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunApps(const Options& options, const std::function<void(const Row&)>& report);
// With Copse both times: T-NBC as it chooses itself, beside T-NBC off.
absl::Status RunAppsTnbc(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_APPS_H_
