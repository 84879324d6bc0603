// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/pacer.h"

#include "gtest/gtest.h"

namespace copse::fabric {
namespace {

constexpr PacerOptions kOptions = {.margin_ns = 50, .spin_share_max = 0.25, .spin_burst_ns = 1000};

TEST(PacerTest, SleepsEndAMarginEarlyThenItSpins) {
  Pacer pacer(kOptions, 0);
  EXPECT_EQ(pacer.SleepNs(0, kNever, true), kNever);
  EXPECT_EQ(pacer.SleepNs(0, 1000, true), 950);
  EXPECT_EQ(pacer.SleepNs(960, 1000, true), 0);
  EXPECT_EQ(pacer.SleepNs(990, 1000, true), 0);
  EXPECT_EQ(pacer.SleepNs(1010, 1000, false), 0) << "due";
  EXPECT_EQ(pacer.spun_ns(), 30);
}

TEST(PacerTest, SpinsAreAShareOfTheTime) {
  Pacer pacer(kOptions, 0);
  int64_t now_ns = 0;
  bool slept_to_the_end = false;
  while (now_ns < 1'000'000) {  // something is always due soon
    const int64_t sleep_ns = pacer.SleepNs(now_ns, now_ns + 40, true);
    slept_to_the_end |= sleep_ns == 40;
    now_ns += sleep_ns == 0 ? 10 : sleep_ns;
  }
  EXPECT_TRUE(slept_to_the_end);
  EXPECT_GT(pacer.spun_ns(), 200'000);
  EXPECT_LT(pacer.spun_ns(), 255'000);
}

TEST(PacerTest, WorkIsNoSpin) {
  Pacer pacer(kOptions, 0);
  for (int64_t now_ns = 0; now_ns < 100'000; now_ns += 10) EXPECT_EQ(pacer.SleepNs(now_ns, now_ns + 40, false), 0);
  EXPECT_EQ(pacer.spun_ns(), 0);
}

}  // namespace
}  // namespace copse::fabric
