// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_time.h"

#include <time.h>

#include "base/check.h"

namespace copse {
namespace {

absl::Duration Read(clockid_t clock) {
  timespec now{};
  CHECK_EQ(clock_gettime(clock, &now), 0);
  return absl::DurationFromTimespec(now);
}

}  // namespace

absl::Duration ThreadCpuTime() { return Read(CLOCK_THREAD_CPUTIME_ID); }
absl::Duration ProcessCpuTime() { return Read(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace copse
