// SPDX-License-Identifier: Apache-2.0
//
// The five scenarios of the T-NBC paper: a blocking collective, and computation of several kinds behind it.
#ifndef COPSE_BENCH_TNBC_SCENARIOS_H_
#define COPSE_BENCH_TNBC_SCENARIOS_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunTnbcScenarios(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_TNBC_SCENARIOS_H_
