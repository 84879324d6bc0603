// SPDX-License-Identifier: Apache-2.0
//
// Ways in which UCX moves long data from process to process: which one suits segments between daemons.
#ifndef COPSE_BENCH_TRANSFER_H_
#define COPSE_BENCH_TRANSFER_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunTransfer(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_TRANSFER_H_
