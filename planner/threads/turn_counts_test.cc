// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/turn_counts.h"

#include <thread>

#include "absl/time/clock.h"
#include "base/cpu_time.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

void Work(absl::Duration duration) {
  const absl::Duration end = ThreadCpuTime() + duration;
  while (ThreadCpuTime() < end) continue;
}

TEST(TurnCountsTest, TheLongestTurnHasItsDate) {
  TurnCounts turns;
  EXPECT_EQ(turns.longest_at(), absl::InfinitePast());
  turns.Begin();
  const absl::Time before = absl::Now();
  Work(absl::Milliseconds(20));
  turns.End();
  const absl::Time after = absl::Now();
  turns.End();  // a short one
  EXPECT_EQ(turns.cpu_ns().count(), 2u);
  EXPECT_GE(turns.cpu_ns().max(), 20'000'000u);
  EXPECT_LT(turns.cpu_ns().min(), 20'000'000u);
  EXPECT_GE(turns.longest_at(), before);
  EXPECT_LE(turns.longest_at(), after);
}

TEST(TurnCountsTest, WorkOfOtherThreadsIsNotTheTurns) {
  TurnCounts turns;
  turns.Begin();
  std::thread([] { Work(absl::Milliseconds(50)); }).join();
  turns.End();
  EXPECT_LT(turns.cpu_ns().max(), 50'000'000u);
}

}  // namespace
}  // namespace copse::planner
