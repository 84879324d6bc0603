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

// A step of the coordinator may take longer than a turn should.
TEST(TaskQueueTest, TasksHaveTheRestOfTheTurn) {
  FakeClock clock;
  TaskQueue queue(&clock);
  const auto tasks_after = [&](absl::Duration worked) {
    while (queue.size() < 20) queue.Post([&clock] { clock.Advance(absl::Milliseconds(1)); });
    queue.RunUntil(clock.Now(), worked);
    return 20 - queue.size();
  };
  EXPECT_EQ(tasks_after(absl::ZeroDuration()), 10u);
  EXPECT_EQ(tasks_after(absl::Milliseconds(6)), 4u);
  EXPECT_EQ(tasks_after(absl::Milliseconds(9)), 2u);
  EXPECT_EQ(tasks_after(absl::Seconds(1)), 2u) << "a turn serves daemons, whatever else it does";
}

}  // namespace
}  // namespace copse::planner
