// SPDX-License-Identifier: Apache-2.0
//
// How fast the arithmetic unit combines two operands, beside copying as many bytes.
#ifndef COPSE_BENCH_ALU_H_
#define COPSE_BENCH_ALU_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunAlu(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_ALU_H_
