// SPDX-License-Identifier: Apache-2.0
//
// Two small applications with the communication of NPB's FT and IS, on MPI libraries, with Copse, and with T-NBC.
#ifndef COPSE_BENCH_KERNELS_H_
#define COPSE_BENCH_KERNELS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/bench.h"
#include "bench/tnbc_model.h"

namespace copse::bench {

absl::Status RunFt(const Options& options, const std::function<void(const Row&)>& report);
absl::Status RunIs(const Options& options, const std::function<void(const Row&)>& report);

// What one launch of mpi_kernel.c has said, in ms.
struct KernelRun {
  double total = 0;
  uint64_t hash = 0;  // of its results
  std::vector<CallAndComputation> calls;
};
// INTERNAL: that is no such line, or not of a whole number of iterations with so many calls each.
absl::StatusOr<KernelRun> ParseKernelRun(const std::vector<double>& samples, uint32_t calls_an_iteration,
                                         uint32_t nodes, uint32_t ppn);

// What T-NBC may bring in a run at most, of the calls with this place in an iteration: by the ceiling that does not
// look at what the computation needs, and by a replay that does.
double CeilingOf(const KernelRun& run, uint32_t place, uint32_t calls_an_iteration);
double ReplayedOf(const KernelRun& run, uint32_t place, uint32_t calls_an_iteration);

}  // namespace copse::bench

#endif  // COPSE_BENCH_KERNELS_H_
