// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/turn_meter.h"

#include "base/clock.h"
#include "base/cpu_time.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

void Compute(absl::Duration duration) {
  const absl::Duration end = ThreadCpuTime() + duration;
  while (ThreadCpuTime() < end) continue;
}

TEST(TurnMeterTest, TheLongestTurnIsKeptAndLongOnesAreCounted) {
  const MonotonicClock clock;
  TurnMeter meter;
  Compute(absl::Milliseconds(20));  // before the first turn
  meter.Mark(clock.Now());
  for (const int ms : {1, 5, 3}) {
    Compute(absl::Milliseconds(ms));
    meter.Mark(clock.Now());
  }
  EXPECT_GE(meter.longest(), absl::Milliseconds(5));
  EXPECT_LT(meter.longest(), absl::Milliseconds(20));
  EXPECT_EQ(meter.long_turns(), 2u);
}

TEST(TurnMeterTest, TimeInWhichTheThreadDidNotRunDoesNotCount) {
  absl::Time now = absl::UnixEpoch();
  TurnMeter meter;
  meter.Mark(now);
  meter.Mark(now += absl::Hours(1));
  EXPECT_LT(meter.longest(), absl::Minutes(1));
}

TEST(TurnMeterTest, ShortTurnsAreNotMeasured) {
  absl::Time now = absl::UnixEpoch();
  TurnMeter meter;
  for (int i = 0; i < 1000; ++i) meter.Mark(now += TurnMeter::kReadEvery / 10);
  EXPECT_EQ(meter.longest(), absl::ZeroDuration());
}

}  // namespace
}  // namespace copse::daemon
