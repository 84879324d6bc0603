// SPDX-License-Identifier: Apache-2.0

#include "client/port/spinner.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/process/core_watch.h"

namespace copse::client {
namespace {

TEST(SpinnerTest, NeverOnOneCore) {
  Spinner spinner(false);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(spinner.Budget(0), 0);
}

TEST(SpinnerTest, VainSpinsEndItAndItIsTriedAgain) {
  Spinner spinner(true);
  int spins = 0;
  while (spinner.Budget(0) > 0) {
    spinner.Ended(false, spinner.Budget(0));
    ASSERT_LT(++spins, 10);
  }
  uint32_t waits = 1;  // the one above
  while (spinner.Budget(0) == 0) ++waits;
  EXPECT_EQ(waits + 1, Spinner::kTryAgainAfter);
  EXPECT_EQ(spinner.Budget(0), Spinner::kBudgetNsMax);
}

TEST(SpinnerTest, TheBudgetFollowsWhatSuccessfulSpinsTake) {
  Spinner spinner(true);
  for (int i = 0; i < 50; ++i) spinner.Ended(true, 2'000);
  EXPECT_GT(spinner.Budget(0), 2 * 2'000);
  EXPECT_LT(spinner.Budget(0), 5 * 2'000);
  for (int i = 0; i < 50; ++i) spinner.Ended(true, 1'000'000);
  EXPECT_EQ(spinner.Budget(0), Spinner::kBudgetNsMax);
}

TEST(SpinnerTest, AYieldThatTookATimeSliceEndsItForAWhile) {
  Spinner spinner(true);
  EXPECT_FALSE(spinner.OnYielded(0, 20'000));
  EXPECT_TRUE(spinner.OnYielded(0, 3'000'000));
  EXPECT_EQ(spinner.Budget(CoreWatch::kPauseMinNs - 1), 0);
  EXPECT_EQ(spinner.Budget(CoreWatch::kPauseMinNs), Spinner::kBudgetNsMax);
}

}  // namespace
}  // namespace copse::client
