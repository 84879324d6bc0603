// SPDX-License-Identifier: Apache-2.0
//
// What collectives cost a program that calls MPI and knows nothing of Copse.
#ifndef COPSE_BENCH_MPI_COLLECTIVES_H_
#define COPSE_BENCH_MPI_COLLECTIVES_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunMpiCollectives(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_MPI_COLLECTIVES_H_
