// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/task_queue.h"

#include "base/testing/fake_clock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

TEST(TaskQueueTest, TheLongestWaitIsThatOfAnyTask) {
  FakeClock clock;
  TaskQueue queue(&clock);
  EXPECT_EQ(queue.Oldest(), absl::InfiniteFuture());
  queue.Post([] {});
  const absl::Time posted = clock.Now();
  clock.Advance(absl::Seconds(3));
  queue.Post([&clock] { clock.Advance(kTurnMax); });  // the turn ends with it
  queue.Post([] {});
  EXPECT_EQ(queue.Oldest(), posted);
  EXPECT_EQ(queue.longest_wait(), absl::ZeroDuration()) << "none has begun";
  queue.RunUntil(clock.Now());
  EXPECT_EQ(queue.longest_wait(), absl::Seconds(3));
  EXPECT_EQ(queue.size(), 1u);
  queue.RunUntil(clock.Now());
  EXPECT_EQ(queue.longest_wait(), absl::Seconds(3)) << "the last task waited for less";
}

}  // namespace
}  // namespace copse::planner
