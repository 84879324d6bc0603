// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"

#include <time.h>

#include "absl/time/time.h"
#include "base/check.h"

namespace copse {

namespace {

absl::Time Read(clockid_t clock) {
  timespec now;
  CHECK_EQ(clock_gettime(clock, &now), 0);
  return absl::TimeFromTimespec(now);
}

}  // namespace

absl::Time MonotonicClock::Now() const { return Read(CLOCK_MONOTONIC); }

absl::Time BootClock::Now() const { return Read(CLOCK_BOOTTIME); }

}  // namespace copse
