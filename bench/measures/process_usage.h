// SPDX-License-Identifier: Apache-2.0
//
// What a process uses, as the kernel counts it.
#ifndef COPSE_BENCH_MEASURES_PROCESS_USAGE_H_
#define COPSE_BENCH_MEASURES_PROCESS_USAGE_H_

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace copse::bench {

// User and system time of all its threads so far. NOT_FOUND: no such process.
absl::StatusOr<absl::Duration> CpuTime(pid_t pid);

// What /proc/PID/smaps_rollup says, in KiB: pages that several processes have count in shares.
struct Pss {
  double total_kb = 0;
  double private_kb = 0;  // without files and what is shared with other processes
  double own_kb = 0;  // without files: what neither grows nor shrinks with the processes beside it that run the same
};
absl::StatusOr<Pss> ReadPss(pid_t pid);

}  // namespace copse::bench

#endif  // COPSE_BENCH_MEASURES_PROCESS_USAGE_H_
