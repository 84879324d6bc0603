// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/fair_share.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

TEST(FairShareTest, AGreedyUserLeavesAnEighthForOthers) {
  const FairShare share{.limit = 16, .floor = 2, .least = 2};
  uint64_t greedy = 0;
  while (share.Allows(greedy, greedy)) ++greedy;
  EXPECT_EQ(greedy, 14u);
  EXPECT_TRUE(share.Allows(0, 14));
  EXPECT_TRUE(share.Allows(1, 15));
  EXPECT_FALSE(share.Allows(2, 15)) << "who has the floor is like the others";
  EXPECT_FALSE(share.Allows(0, 16)) << "the limit is one for all";
}

TEST(FairShareTest, WhatIsFreeIsAnybodys) {
  const FairShare share{.limit = 16, .floor = 2, .least = 2};
  EXPECT_TRUE(share.Allows(13, 13));
  EXPECT_TRUE(share.Allows(6, 13));
  EXPECT_FALSE(share.Allows(6, 14));
}

// Returns what further users get, each as much as it may, beside one who has all that it may have.
std::vector<uint64_t> AmountsOfFurtherUsers(const FairShare& share) {
  uint64_t used = share.most();
  std::vector<uint64_t> amounts;
  while (share.Allows(0, used)) {
    uint64_t amount = 1;
    while (share.Allows(amount, used + amount)) ++amount;
    used += amount;
    amounts.push_back(amount);
  }
  return amounts;
}

TEST(FairShareTest, OneUserAfterTheOtherFindsHalfOfWhatThereWasOrTheLeast) {
  const FairShare memory{.limit = 1024, .floor = 128, .least = 16, .kept_eighths = 2};
  EXPECT_EQ(memory.most(), 768u);
  EXPECT_EQ(AmountsOfFurtherUsers(memory), (std::vector<uint64_t>{128, 64, 32, 16, 16}));
  const FairShare teams{.limit = 1024, .floor = 128, .least = 2};
  EXPECT_EQ(AmountsOfFurtherUsers(teams), (std::vector<uint64_t>{64, 32, 16, 8, 4, 2, 2}));
  const FairShare clients{.limit = 1024, .floor = 4, .least = 4};
  EXPECT_EQ(AmountsOfFurtherUsers(clients), std::vector<uint64_t>(32, 4));
}

TEST(FairShareTest, WhatIsGivenBackIsKeptAgain) {
  const FairShare memory{.limit = 1024, .floor = 128, .least = 16, .kept_eighths = 2};
  EXPECT_FALSE(memory.Allows(700, 700 + 128)) << "a greedy user has given some back, and another has the floor";
  EXPECT_TRUE(memory.Allows(0, 700 + 128, 98)) << "who has nothing finds as much as is left for further ones";
  EXPECT_FALSE(memory.Allows(0, 700 + 128, 99));
}

TEST(FairShareTest, ASmallLimitIsNotDivided) {
  const FairShare share{.limit = 3, .floor = 2};
  EXPECT_TRUE(share.Allows(2, 2));
  EXPECT_FALSE(share.Allows(3, 3));
}

TEST(FairShareTest, AmountsAreKeptInWholeUnits) {
  const FairShare share{.limit = 1700, .floor = 200, .least = 200, .unit = 100};
  EXPECT_EQ(share.kept(), 200u);
  EXPECT_TRUE(share.Allows(0, 0, 1500));
  EXPECT_FALSE(share.Allows(0, 0, 1501));
  EXPECT_TRUE(share.Allows(100, 1600, 100));
  EXPECT_FALSE(share.Allows(101, 1600, 100)) << "more than the floor";
  const FairShare few{.limit = 700, .floor = 0, .unit = 100};
  EXPECT_TRUE(few.Allows(0, 0, 700)) << "fewer than eight units are not divided";
}

TEST(FairShareTest, ARefusalNamesUserQuotaUsedAndLimit) {
  const std::string said = FairShare{.limit = 16, .floor = 2}.Refusal("clients", 1000, 13, 14);
  for (const char* part : {"too many clients", "uid=1000", "used=13", "used by all=14", "limit=16"}) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace copse::daemon
