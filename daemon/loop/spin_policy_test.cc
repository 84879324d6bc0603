// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/spin_policy.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

constexpr absl::Duration kBudget = absl::Microseconds(50);
constexpr absl::Duration kNone = absl::ZeroDuration();

absl::Time At(int ms) { return absl::UnixEpoch() + absl::Milliseconds(ms); }

TEST(SpinPolicyTest, DoesNotSpinBeforeAShortSleep) {
  SpinPolicy policy(kBudget, 2);
  EXPECT_EQ(policy.Budget(At(0)), kNone);
  policy.OnSlept(absl::Milliseconds(100));
  EXPECT_EQ(policy.Budget(At(0)), kNone);
  policy.OnSlept(absl::Microseconds(40));
  EXPECT_EQ(policy.Budget(At(0)), kBudget);
}

TEST(SpinPolicyTest, VainSpinsEndIt) {
  SpinPolicy policy(kBudget, 2);
  for (int i = 0; i < 100; ++i) policy.OnSlept(absl::Microseconds(10));
  int spins = 0;
  while (policy.Budget(At(0)) > kNone) {
    policy.OnSpun(false);
    ++spins;
  }
  EXPECT_EQ(spins, 8);
}

TEST(SpinPolicyTest, NeverSpinsWithoutABudget) {
  SpinPolicy policy(kNone, 2);
  policy.OnSlept(absl::Microseconds(10));
  EXPECT_EQ(policy.Budget(At(0)), kNone);
}

TEST(SpinPolicyTest, NeverSpinsOnASingleCore) {
  SpinPolicy policy(kBudget, 1);
  policy.OnSlept(absl::Microseconds(10));
  EXPECT_EQ(policy.Budget(At(0)), kNone);
}

TEST(SpinPolicyTest, AYieldThatATimeSliceTookPausesIt) {
  SpinPolicy policy(kBudget, 2);
  policy.OnSlept(absl::Microseconds(10));
  EXPECT_FALSE(policy.OnYielded(At(0), absl::Microseconds(5)));
  EXPECT_TRUE(policy.OnYielded(At(0), absl::Milliseconds(3)));
  EXPECT_EQ(policy.Budget(At(499)), kNone);
  EXPECT_EQ(policy.Budget(At(500)), kBudget);
}

TEST(SpinPolicyTest, ReadsThisMachine) { EXPECT_GE(UsableCores(), 1u); }

}  // namespace
}  // namespace copse::daemon
