// SPDX-License-Identifier: Apache-2.0
#include "base/process/core_watch.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace copse {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSlice = 3 * kMs;

TEST(CoreWatchTest, ShortYieldsNeverForbid) {
  CoreWatch watch;
  for (int64_t now = 0; now < 1000; ++now) {
    EXPECT_FALSE(watch.OnYielded(now * kMs, CoreWatch::kYieldLongNs - 1));
    EXPECT_TRUE(watch.MaySpin(now * kMs));
  }
}

TEST(CoreWatchTest, EachLongYieldForbidsForTwiceAsLong) {
  CoreWatch watch;
  int64_t now = 1000 * kMs;
  for (int64_t pause = CoreWatch::kPauseMinNs; pause < CoreWatch::kPauseMaxNs; pause *= 2) {
    EXPECT_TRUE(watch.OnYielded(now, kSlice));
    EXPECT_FALSE(watch.MaySpin(now + pause - 1));
    EXPECT_TRUE(watch.MaySpin(now + pause));
    now += pause + kSlice;
  }
  EXPECT_TRUE(watch.OnYielded(now, kSlice));
  EXPECT_FALSE(watch.MaySpin(now + CoreWatch::kPauseMaxNs - 1));
  EXPECT_TRUE(watch.MaySpin(now + CoreWatch::kPauseMaxNs));
}

TEST(CoreWatchTest, BesideAComputingProcessYieldsCostLessThanOnePartInAThousand) {
  CoreWatch watch;
  int64_t now = 0, lost = 0;
  const int64_t end = int64_t{600'000} * kMs;
  while (now < end) {
    if (watch.MaySpin(now)) {
      now += kSlice;
      lost += kSlice;
      watch.OnYielded(now, kSlice);
    }
    now += kMs;
  }
  EXPECT_LT(lost, end / 1000);
}

TEST(CoreWatchTest, BeginsAnewAfterAQuietTime) {
  CoreWatch watch;
  EXPECT_TRUE(watch.OnYielded(0, kSlice));
  EXPECT_TRUE(watch.OnYielded(500 * kMs, kSlice));  // pauses 1 s, until 1500 ms
  EXPECT_TRUE(watch.OnYielded(5000 * kMs, kSlice));
  EXPECT_TRUE(watch.MaySpin(5500 * kMs));
}

}  // namespace
}  // namespace copse
