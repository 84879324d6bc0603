// SPDX-License-Identifier: Apache-2.0
//
// What T-NBC's priorities bring, by the order in which a program reads what it has received.
#ifndef COPSE_BENCH_TNBC_ORDER_H_
#define COPSE_BENCH_TNBC_ORDER_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunTnbcOrder(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_TNBC_ORDER_H_
