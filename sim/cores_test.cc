// SPDX-License-Identifier: Apache-2.0
#include "sim/cores.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <vector>

#include "sim/event_queue.h"

namespace copse::sim {
namespace {

constexpr WakeCosts kCosts{.spin_ns = 50, .wake_ns = 7, .handoff_ns = 3};

// Runs turns of 100 ns plus the wake-up; `work` is the number of further turns of each actor.
class Machine final : public Worker {
 public:
  explicit Machine(const std::vector<uint32_t>& cores_of_hosts) : cores(kCosts, this) {
    for (const uint32_t count : cores_of_hosts) cores.AddHost(count);
  }

  void AddActor(uint32_t host) {
    cores.AddActor(host);
    work.push_back(0);
  }
  void Post(uint32_t actor, int64_t time_ns) { events.Push(time_ns, {actor, false}); }
  void Run() {
    while (!events.empty()) {
      const auto [time_ns, sequence, event] = events.Pop();
      const auto [actor, ends] = event;
      if (ends) {
        cores.End(actor, time_ns);
      } else {
        ++work[actor];
        cores.MakeRunnable(actor, time_ns);
      }
    }
  }

  int64_t Turn(uint32_t actor, int64_t now_ns) override {
    --work[actor];
    const int64_t wake_ns = cores.WakeNs(actor, now_ns);
    turns.emplace_back(actor, now_ns, wake_ns);
    events.Push(now_ns + wake_ns + 100, {actor, true});
    return now_ns + wake_ns + 100;
  }
  bool HasWork(uint32_t actor) const override { return work[actor] > 0; }

  EventQueue<int64_t, std::pair<uint32_t, bool>> events;  // (actor, whether its turn ends)
  std::vector<uint32_t> work;
  std::vector<std::tuple<uint32_t, int64_t, int64_t>> turns;  // (actor, begin, wake-up time)
  Cores cores;
};

using Turns = std::vector<std::tuple<uint32_t, int64_t, int64_t>>;

TEST(CoresTest, WithoutALimitAllRunAtOnce) {
  Machine machine({0});
  for (int i = 0; i < 3; ++i) machine.AddActor(0);
  for (uint32_t actor = 0; actor < 3; ++actor) machine.Post(actor, 10);
  machine.Run();
  EXPECT_EQ(machine.turns, (Turns{{0, 10, 7}, {1, 10, 7}, {2, 10, 7}}));
}

TEST(CoresTest, ACoreGoesToTheActorThatWaitedLongest) {
  Machine machine({1});
  for (int i = 0; i < 3; ++i) machine.AddActor(0);
  machine.Post(2, 0);
  machine.Post(1, 10);
  machine.Post(0, 20);
  machine.Run();
  EXPECT_EQ(machine.turns, (Turns{{2, 0, 7}, {1, 107, 3}, {0, 210, 3}}));
}

TEST(CoresTest, AnActorKeepsItsCoreWhileItHasWork) {
  Machine machine({1});
  machine.AddActor(0);
  machine.AddActor(0);
  machine.Post(0, 0);
  machine.Post(1, 10);
  machine.Post(0, 20);
  machine.Run();
  EXPECT_EQ(machine.turns, (Turns{{0, 0, 7}, {0, 107, 0}, {1, 207, 3}}));
}

TEST(CoresTest, ASpinningActorRunsAtOnceUnlessAnotherWantedItsCore) {
  Machine machine({1});
  machine.AddActor(0);
  machine.AddActor(0);
  machine.Post(0, 0);    // 0 to 107
  machine.Post(0, 157);  // still spins: to 257
  machine.Post(0, 308);  // sleeps since 307: to 415
  machine.Post(1, 400);  // waits until 415, to 518
  machine.Post(0, 460);  // waits until 518, to 621
  machine.Post(1, 650);  // would spin until 568 only
  machine.Run();
  EXPECT_EQ(machine.turns, (Turns{{0, 0, 7}, {0, 157, 0}, {0, 308, 7}, {1, 415, 3}, {0, 518, 3}, {1, 650, 7}}));
}

TEST(CoresTest, HostsDoNotShareCores) {
  Machine machine({1, 1});
  machine.AddActor(0);
  machine.AddActor(1);
  machine.Post(0, 0);
  machine.Post(1, 0);
  machine.Run();
  EXPECT_EQ(machine.turns, (Turns{{0, 0, 7}, {1, 0, 7}}));
}

}  // namespace
}  // namespace copse::sim
