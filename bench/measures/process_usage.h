// SPDX-License-Identifier: Apache-2.0
//
// Reads the processor time and memory of a process from the kernel.
#ifndef COPSE_BENCH_MEASURES_PROCESS_USAGE_H_
#define COPSE_BENCH_MEASURES_PROCESS_USAGE_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace copse::bench {

// Returns the user and system time of all threads of the process so far. Errors: NOT_FOUND if there is no such process.
absl::StatusOr<absl::Duration> CpuTime(pid_t pid);

// Lets all threads of the process run on one core only, and those that they start. Errors: of the system.
absl::Status PinProcess(pid_t pid, uint32_t core);

// Pss holds values of /proc/PID/smaps_rollup in KiB. A page of several processes is divided by their number.
struct Pss {
  double total_kb = 0;
  double private_kb = 0;  // anonymous memory
  double own_kb = 0;      // anonymous and shared memory: without mapped files, which processes of one program share
};
absl::StatusOr<Pss> ReadPss(pid_t pid);

}  // namespace copse::bench

#endif  // COPSE_BENCH_MEASURES_PROCESS_USAGE_H_
