// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/range_history.h"

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

// Returns the number of uses after which the range is to be remapped.
int UsesUntilWanted(UseCounts* uses, const Range& range) {
  for (int count = 1;; ++count) {
    if (uses->Count(range).has_value()) return count;
  }
}

TEST(UseCountsTest, TheLongestRangeIsWantedOnceItIsUsedAgain) {
  UseCounts uses;
  EXPECT_FALSE(uses.Count({100, 300}).has_value());
  EXPECT_FALSE(uses.Count({500, 600}).has_value());
  EXPECT_EQ(uses.Count({100, 200}), (Range{100, 300}));
}

TEST(UseCountsTest, ARangeThatWasCopiedBackIsWantedLater) {
  UseCounts uses;
  const Range range = {100, 200};
  EXPECT_EQ(UsesUntilWanted(&uses, range), 2);
  uses.Restart(100, MemoryEnd::kStays);
  EXPECT_EQ(UsesUntilWanted(&uses, range), 4);
  uses.Restart(100, MemoryEnd::kStays);
  EXPECT_EQ(UsesUntilWanted(&uses, range), 8);
  for (int i = 0; i < 20; ++i) uses.Restart(100, MemoryEnd::kStays);
  EXPECT_EQ(UsesUntilWanted(&uses, range), 1024);
  uses.Restart(100, MemoryEnd::kGoes);
  EXPECT_EQ(UsesUntilWanted(&uses, range), 2);
  uses.Restart(77, MemoryEnd::kStays);  // unknown
}

TEST(UseCountsTest, OldRangesMakeRoomAndForgottenOnesBeginAnew) {
  UseCounts uses;
  uses.Count({1, 2});
  for (uintptr_t i = 0; i < RecentRanges<Range>::kItemsMax; ++i) uses.Count({100 + i, 200 + i});
  EXPECT_FALSE(uses.Count({1, 2}).has_value());
  EXPECT_TRUE(uses.Count({1, 2}).has_value());
  uses.Forget({0, 1});
  EXPECT_TRUE(uses.Count({1, 2}).has_value());
  uses.Forget({1, 2});
  EXPECT_FALSE(uses.Count({1, 2}).has_value());
}

// Returns how many calls do not send from the memory.
int Refusals(SendRegrets* regrets, uintptr_t begin) {
  int count = 0;
  while (!regrets->MaySendFrom(begin)) ++count;
  return count;
}

TEST(SendRegretsTest, EachRegretLastsTwiceAsLong) {
  SendRegrets regrets;
  EXPECT_TRUE(regrets.MaySendFrom(100));
  regrets.Regret({100, 200});
  EXPECT_TRUE(regrets.MaySendFrom(101));
  EXPECT_EQ(Refusals(&regrets, 100), 8);
  regrets.Regret({100, 200});
  EXPECT_EQ(Refusals(&regrets, 100), 16);
  for (int i = 0; i < 20; ++i) regrets.Regret({100, 200});
  EXPECT_EQ(Refusals(&regrets, 100), 1024);
  regrets.Regret({100, 200});
  regrets.Forget({100, 101});
  EXPECT_TRUE(regrets.MaySendFrom(100));
}

}  // namespace
}  // namespace copse::tnbc
