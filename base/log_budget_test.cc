// SPDX-License-Identifier: Apache-2.0
#include "base/log_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace copse {
namespace {

using ::testing::HasSubstr;

class LogBudgetTest : public ::testing::Test {
 protected:
  // Takes until there is nothing left, and returns how many lines that were.
  uint64_t Exhaust(const std::string& party) {
    uint64_t taken = 0;
    while (budget_.Take(party, now_).has_value()) ++taken;
    return taken;
  }

  LogBudget budget_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(LogBudgetTest, APartyHasABurstAndThenItsRate) {
  EXPECT_EQ(Exhaust("a"), LogBudget::kBurst);
  EXPECT_EQ(Exhaust("b"), LogBudget::kBurst) << "another party has its own";
  now_ += 7 * LogBudget::kEvery;
  EXPECT_EQ(Exhaust("a"), 7u);
  now_ += absl::Hours(24);
  EXPECT_EQ(Exhaust("a"), LogBudget::kBurst);
}

TEST_F(LogBudgetTest, TheNextLineSaysHowManyWereLeftOut) {
  EXPECT_EQ(budget_.Take("a", now_), "");
  Exhaust("a");
  for (int i = 0; i < 41; ++i) EXPECT_FALSE(budget_.Take("a", now_).has_value());
  now_ += 2 * LogBudget::kEvery;
  EXPECT_THAT(budget_.Take("a", now_).value_or("none"), HasSubstr("42"));
  EXPECT_EQ(budget_.Take("a", now_), "");
}

TEST_F(LogBudgetTest, PartiesThatWereQuietAreForgottenFirst) {
  Exhaust("a");
  for (size_t i = 1; i < LogBudget::kPartiesMax; ++i) budget_.Take(absl::StrCat(i), now_);
  now_ += LogBudget::kEvery;
  EXPECT_TRUE(budget_.Take("one more", now_).has_value());
  EXPECT_EQ(Exhaust("a"), 1u) << "it is remembered";
}

}  // namespace
}  // namespace copse
