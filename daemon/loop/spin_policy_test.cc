// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/spin_policy.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

constexpr absl::Duration kBudget = absl::Microseconds(50);
constexpr absl::Duration kNone = absl::ZeroDuration();
uint32_t threads_running = 1;
uint32_t Threads() { return threads_running; }

absl::Time At(int ms) { return absl::UnixEpoch() + absl::Milliseconds(ms); }

TEST(SpinPolicyTest, DoesNotSpinBeforeAShortSleep) {
  SpinPolicy policy(kBudget, 2, &Threads);
  EXPECT_EQ(policy.Budget(At(0)), kNone);
  policy.OnSlept(absl::Milliseconds(100));
  EXPECT_EQ(policy.Budget(At(0)), kNone);
  policy.OnSlept(absl::Microseconds(40));
  EXPECT_EQ(policy.Budget(At(0)), kBudget);
}

TEST(SpinPolicyTest, VainSpinsEndIt) {
  SpinPolicy policy(kBudget, 2, &Threads);
  for (int i = 0; i < 100; ++i) policy.OnSlept(absl::Microseconds(10));
  int spins = 0;
  while (policy.Budget(At(0)) > kNone) {
    policy.OnSpun(false);
    ++spins;
  }
  EXPECT_EQ(spins, 8);
}

TEST(SpinPolicyTest, NeverSpinsWithoutABudget) {
  SpinPolicy policy(kNone, 2, &Threads);
  policy.OnSlept(absl::Microseconds(10));
  EXPECT_EQ(policy.Budget(At(0)), kNone);
}

TEST(SpinPolicyTest, DoesNotSpinWhenMoreThreadsRunThanCores) {
  SpinPolicy policy(kBudget, 2, &Threads);
  policy.OnSlept(absl::Microseconds(10));
  threads_running = 3;
  EXPECT_EQ(policy.Budget(At(0)), kNone);
  threads_running = 2;
  EXPECT_EQ(policy.Budget(At(9)), kNone);  // asks again only after 10 ms
  EXPECT_EQ(policy.Budget(At(10)), kBudget);
  threads_running = 1;
}

TEST(SpinPolicyTest, AYieldThatATimeSliceTookPausesItForLongerEachTime) {
  SpinPolicy policy(kBudget, 2, &Threads);
  policy.OnSlept(absl::Microseconds(10));
  EXPECT_FALSE(policy.OnYielded(At(0), absl::Microseconds(5)));
  EXPECT_TRUE(policy.OnYielded(At(0), absl::Milliseconds(3)));
  EXPECT_EQ(policy.Budget(At(9)), kNone);
  EXPECT_EQ(policy.Budget(At(10)), kBudget);
  EXPECT_TRUE(policy.OnYielded(At(10), absl::Milliseconds(3)));
  EXPECT_EQ(policy.Budget(At(29)), kNone);
  EXPECT_EQ(policy.Budget(At(30)), kBudget);
}

TEST(SpinPolicyTest, ReadsThisMachine) {
  EXPECT_GE(ThreadsRunning(), 1u);
  EXPECT_GE(UsableCores(), 1u);
}

}  // namespace
}  // namespace copse::daemon
