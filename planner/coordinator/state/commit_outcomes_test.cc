// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/commit_outcomes.h"

#include "base/testing/fake_clock.h"
#include "gtest/gtest.h"

namespace copse::coordinator {
namespace {

TEST(CommitOutcomesTest, FailuresCountFromTheFirstUntilASuccess) {
  FakeClock clock;
  CommitOutcomes outcomes(&clock);
  EXPECT_EQ(outcomes.failing_for(), absl::ZeroDuration());
  for (int i = 0; i < 2; ++i) {
    outcomes.Begin();
    outcomes.Fail(absl::UnavailableError("no answer"), 1);
    clock.Advance(absl::Seconds(2));
  }
  EXPECT_EQ(outcomes.failing_for(), absl::Seconds(4));
  EXPECT_EQ(outcomes.error().message(), "no answer");
  outcomes.Begin();
  clock.Advance(absl::Nanoseconds(7));
  outcomes.Succeed(1);
  EXPECT_EQ(outcomes.failing_for(), absl::ZeroDuration());
  EXPECT_TRUE(outcomes.error().ok());
  EXPECT_EQ(outcomes.failures(), 2u);
  EXPECT_EQ(outcomes.times_ns().count(), 1u);
  EXPECT_EQ(outcomes.times_ns().max(), 7u);
}

}  // namespace
}  // namespace copse::coordinator
