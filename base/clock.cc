// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"

#include <time.h>

#include "absl/time/time.h"
#include "base/check.h"

namespace copse {

absl::Time MonotonicClock::Now() const {
  timespec now;
  CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &now), 0);
  return absl::TimeFromTimespec(now);
}

}  // namespace copse
