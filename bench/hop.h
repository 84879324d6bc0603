// SPDX-License-Identifier: Apache-2.0
//
// What one step costs: a local call, a packet in the engine, a packet between two daemons' engines.
#ifndef COPSE_BENCH_HOP_H_
#define COPSE_BENCH_HOP_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunHop(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_HOP_H_
