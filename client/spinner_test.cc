// SPDX-License-Identifier: Apache-2.0

#include "client/spinner.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace copse::client {
namespace {

TEST(SpinnerTest, NeverOnOneCore) {
  Spinner spinner(false);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(spinner.Budget(), 0);
}

TEST(SpinnerTest, VainSpinsEndItAndItIsTriedAgain) {
  Spinner spinner(true);
  int spins = 0;
  while (spinner.Budget() > 0) {
    spinner.Ended(false, spinner.Budget());
    ASSERT_LT(++spins, 10);
  }
  uint32_t waits = 1;  // the one above
  while (spinner.Budget() == 0) ++waits;
  EXPECT_EQ(waits + 1, Spinner::kTryAgainAfter);
  EXPECT_EQ(spinner.Budget(), Spinner::kBudgetNsMax);
}

TEST(SpinnerTest, TheBudgetFollowsWhatSuccessfulSpinsTake) {
  Spinner spinner(true);
  for (int i = 0; i < 50; ++i) spinner.Ended(true, 2'000);
  EXPECT_GT(spinner.Budget(), 2 * 2'000);
  EXPECT_LT(spinner.Budget(), 5 * 2'000);
  for (int i = 0; i < 50; ++i) spinner.Ended(true, 1'000'000);
  EXPECT_EQ(spinner.Budget(), Spinner::kBudgetNsMax);
}

TEST(SpinnerTest, AYieldThatTookLongMeansThatTheCoreIsWanted) {
  EXPECT_FALSE(Spinner::CoreIsWanted(500));
  EXPECT_TRUE(Spinner::CoreIsWanted(100'000));
}

}  // namespace
}  // namespace copse::client
