// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"

#include <time.h>

#include <gtest/gtest.h>

#include "absl/time/time.h"

namespace copse {
namespace {

TEST(MonotonicClockTest, AgreesWithTheKernel) {
  const MonotonicClock clock;
  timespec before;
  timespec after;
  ASSERT_EQ(clock_gettime(CLOCK_MONOTONIC, &before), 0);
  const absl::Time now = clock.Now();
  ASSERT_EQ(clock_gettime(CLOCK_MONOTONIC, &after), 0);
  EXPECT_GE(now, absl::TimeFromTimespec(before));
  EXPECT_LE(now, absl::TimeFromTimespec(after));
}

TEST(MonotonicClockTest, NeverGoesBack) {
  const MonotonicClock clock;
  absl::Time last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const absl::Time now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(BootClockTest, AgreesWithTheKernel) {
  timespec before;
  ASSERT_EQ(clock_gettime(CLOCK_BOOTTIME, &before), 0);
  const absl::Time now = BootClock().Now();
  timespec after;
  ASSERT_EQ(clock_gettime(CLOCK_BOOTTIME, &after), 0);
  EXPECT_GE(now, absl::TimeFromTimespec(before));
  EXPECT_LE(now, absl::TimeFromTimespec(after));
}

}  // namespace
}  // namespace copse
