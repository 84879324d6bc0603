// SPDX-License-Identifier: Apache-2.0
#include "sim/cores.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/event_queue.h"

namespace copse::sim {
namespace {

constexpr WakeCosts kCosts{.spin_ns = 50, .wake_ns = 7, .handoff_ns = 3};

using Turns = std::vector<std::tuple<uint32_t, int64_t, int64_t>>;  // (actor, begin, wake-up time)
using Work = std::vector<std::pair<uint32_t, int64_t>>;             // (actor, time)

// Runs turns of 100 ns plus the wake-up.
class Machine final : public Worker {
 public:
  // Returns the turns of actors, each on its host, that get a turn's work at these times.
  static Turns TurnsOf(const std::vector<uint32_t>& cores_of_hosts, const std::vector<uint32_t>& host_of_actor,
                       const Work& work) {
    Machine machine;
    for (const uint32_t count : cores_of_hosts) machine.cores_.AddHost(count);
    for (const uint32_t host : host_of_actor) machine.cores_.AddActor(host);
    machine.work_.resize(host_of_actor.size());
    for (const auto& [actor, time_ns] : work) machine.events_.Push(time_ns, {actor, false});
    machine.Run();
    return machine.turns_;
  }

  int64_t Turn(uint32_t actor, int64_t now_ns) override {
    --work_[actor];
    const int64_t wake_ns = cores_.WakeNs(actor, now_ns);
    turns_.emplace_back(actor, now_ns, wake_ns);
    events_.Push(now_ns + wake_ns + 100, {actor, true});
    return now_ns + wake_ns + 100;
  }
  bool HasWork(uint32_t actor) const override { return work_[actor] > 0; }

 private:
  void Run() {
    while (!events_.empty()) {
      const auto [time_ns, sequence, event] = events_.Pop();
      const auto [actor, ends] = event;
      if (ends) {
        cores_.End(actor, time_ns);
      } else {
        ++work_[actor];
        cores_.MakeRunnable(actor, time_ns);
      }
    }
  }

  EventQueue<int64_t, std::pair<uint32_t, bool>> events_;  // (actor, whether its turn ends)
  std::vector<uint32_t> work_;                             // further turns of each actor
  Turns turns_;
  Cores cores_{kCosts, this};
};

TEST(CoresTest, WithoutALimitAllRunAtOnce) {
  EXPECT_EQ(Machine::TurnsOf({0}, {0, 0, 0}, {{0, 10}, {1, 10}, {2, 10}}), (Turns{{0, 10, 7}, {1, 10, 7}, {2, 10, 7}}));
}

TEST(CoresTest, ACoreGoesToTheActorThatWaitedLongest) {
  EXPECT_EQ(Machine::TurnsOf({1}, {0, 0, 0}, {{2, 0}, {1, 10}, {0, 20}}), (Turns{{2, 0, 7}, {1, 107, 3}, {0, 210, 3}}));
}

TEST(CoresTest, AnActorKeepsItsCoreWhileItHasWork) {
  EXPECT_EQ(Machine::TurnsOf({1}, {0, 0}, {{0, 0}, {1, 10}, {0, 20}}), (Turns{{0, 0, 7}, {0, 107, 0}, {1, 207, 3}}));
}

TEST(CoresTest, ASpinningActorRunsAtOnceUnlessAnotherWantedItsCore) {
  const Work work = {{0, 0},     // 0 to 107
                     {0, 157},   // still spins: to 257
                     {0, 308},   // sleeps since 307: to 415
                     {1, 400},   // waits until 415, to 518
                     {0, 460},   // waits until 518, to 621
                     {1, 650}};  // would spin until 568 only
  EXPECT_EQ(Machine::TurnsOf({1}, {0, 0}, work),
            (Turns{{0, 0, 7}, {0, 157, 0}, {0, 308, 7}, {1, 415, 3}, {0, 518, 3}, {1, 650, 7}}));
}

TEST(CoresTest, HostsDoNotShareCores) {
  EXPECT_EQ(Machine::TurnsOf({1, 1}, {0, 1}, {{0, 0}, {1, 0}}), (Turns{{0, 0, 7}, {1, 0, 7}}));
}

}  // namespace
}  // namespace copse::sim
