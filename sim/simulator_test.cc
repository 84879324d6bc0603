// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator.h"

#include <functional>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace copse::sim {
namespace {

TEST(SimulatorTest, EventsRunInOrderOfTimeThenActorThenScheduling) {
  Simulator simulator;
  std::vector<int> order;
  const auto note = [&](int value) { return [&order, value] { order.push_back(value); }; };
  simulator.Schedule(absl::Seconds(2), 0, note(5));
  simulator.Schedule(absl::Seconds(1), 7, note(3));
  simulator.Schedule(absl::Seconds(1), 2, note(1));
  simulator.Schedule(absl::Seconds(1), 2, note(2));
  simulator.Schedule(absl::Seconds(1), kNetworkActor, note(4));
  EXPECT_TRUE(simulator.RunUntilIdle());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(simulator.Now(), absl::UnixEpoch() + absl::Seconds(2));
  EXPECT_EQ(simulator.clock()->Now(), simulator.Now());
  EXPECT_EQ(simulator.events_run(), 5u);
  EXPECT_FALSE(simulator.Step());
}

TEST(SimulatorTest, AnEventInThePastRunsNow) {
  Simulator simulator;
  simulator.RunFor(absl::Seconds(5));
  absl::Time ran;
  simulator.At(absl::UnixEpoch(), 0, [&] { ran = simulator.Now(); });
  EXPECT_TRUE(simulator.Step());
  EXPECT_EQ(ran, absl::UnixEpoch() + absl::Seconds(5));
}

TEST(SimulatorTest, ATimerNeverGetsIdleButStopsAtTheLimit) {
  Simulator simulator;
  std::function<void()> tick = [&] { simulator.Schedule(absl::Seconds(1), 0, tick); };
  tick();
  EXPECT_FALSE(simulator.RunUntilIdle(100));
  EXPECT_EQ(simulator.events_run(), 100u);
  EXPECT_TRUE(simulator.Step());
}

TEST(SimulatorTest, RunUntilStopsWhenDoneOrAtTheDeadline) {
  Simulator simulator;
  int count = 0;
  for (int i = 1; i <= 10; ++i) simulator.Schedule(absl::Seconds(i), 0, [&] { ++count; });
  const absl::Time start = simulator.Now();
  EXPECT_TRUE(simulator.RunUntil([&] { return count == 3; }, start + absl::Seconds(100)));
  EXPECT_EQ(simulator.Now(), start + absl::Seconds(3));
  EXPECT_FALSE(simulator.RunUntil([&] { return count == 100; }, start + absl::Milliseconds(5500)));
  EXPECT_EQ(count, 5);
  EXPECT_EQ(simulator.Now(), start + absl::Milliseconds(5500));
  simulator.RunFor(absl::Seconds(1));
  EXPECT_EQ(count, 6);
  EXPECT_FALSE(simulator.RunUntil([] { return false; }, start + absl::Seconds(50)));
  EXPECT_EQ(simulator.Now(), start + absl::Seconds(50));
}

TEST(SimulatorTest, TraceHashesTellRunsApart) {
  const auto run = [](ActorId actor, uint64_t traced) {
    Simulator simulator;
    simulator.Schedule(absl::Seconds(1), actor, [&] { simulator.Trace(traced); });
    simulator.RunUntilIdle();
    return simulator.trace_hash();
  };
  EXPECT_EQ(run(1, 2), run(1, 2));
  EXPECT_NE(run(1, 2), run(2, 2));
  EXPECT_NE(run(1, 2), run(1, 3));
}

}  // namespace
}  // namespace copse::sim
