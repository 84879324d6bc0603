// SPDX-License-Identifier: Apache-2.0
//
// Programs that make many communicators and use them little.
#ifndef COPSE_BENCH_COMM_H_
#define COPSE_BENCH_COMM_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunComm(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_COMM_H_
