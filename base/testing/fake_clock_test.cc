// SPDX-License-Identifier: Apache-2.0

#include "base/testing/fake_clock.h"

#include <gtest/gtest.h>

#include "absl/time/time.h"

namespace copse {
namespace {

TEST(FakeClockTest, MovesOnlyWhenTold) {
  FakeClock clock;
  EXPECT_EQ(clock.Now(), absl::UnixEpoch());
  clock.Advance(absl::Milliseconds(5));
  EXPECT_EQ(clock.Now(), absl::UnixEpoch() + absl::Milliseconds(5));
  clock.AdvanceTo(absl::UnixEpoch() + absl::Seconds(1));
  EXPECT_EQ(clock.Now(), absl::UnixEpoch() + absl::Seconds(1));
}

TEST(FakeClockTest, StartsWhereTold) { EXPECT_EQ(FakeClock(absl::FromUnixSeconds(9)).Now(), absl::FromUnixSeconds(9)); }

TEST(FakeClockDeathTest, RefusesToGoBack) {
  FakeClock clock(absl::FromUnixSeconds(9));
  EXPECT_DEATH(clock.Advance(absl::Seconds(-1)), "CHECK failed");
  EXPECT_DEATH(clock.AdvanceTo(absl::FromUnixSeconds(8)), "CHECK failed");
}

}  // namespace
}  // namespace copse
