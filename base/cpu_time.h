// SPDX-License-Identifier: Apache-2.0
//
// Reads the processor time of this thread and of this process.
#ifndef COPSE_BASE_CPU_TIME_H_
#define COPSE_BASE_CPU_TIME_H_

#include "absl/time/time.h"

namespace copse {

// Return user and system time so far: of the calling thread, and of all threads of the process, ended ones included.
absl::Duration ThreadCpuTime();
absl::Duration ProcessCpuTime();

}  // namespace copse

#endif  // COPSE_BASE_CPU_TIME_H_
