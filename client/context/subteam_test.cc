// SPDX-License-Identifier: Apache-2.0

#include "client/context/subteam.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "protocol/attach_protocol.h"

namespace copse::client {
namespace {

TEST(MembersOfTest, SameColorByKeyThenRank) {
  const std::vector<SubteamRecord> records{{7, 2, 0}, {8, 0, 0}, {7, -1, 0}, {COPSE_UNDEFINED, 0, 0}, {7, 2, 0}};
  EXPECT_EQ(MembersOf(records, 0), (std::vector<uint32_t>{2, 0, 4}));
  EXPECT_EQ(MembersOf(records, 4), (std::vector<uint32_t>{2, 0, 4}));
  EXPECT_EQ(MembersOf(records, 1), (std::vector<uint32_t>{1}));
  EXPECT_TRUE(MembersOf(records, 3).empty());
}

TEST(CheckSameListTest, OnlyMembersCount) {
  const std::vector<SubteamRecord> records{{0, 0, 11}, {0, 1, 11}, {2, 0, 12}};
  EXPECT_EQ(CheckSameList(records, {0, 1}), COPSE_OK);
  EXPECT_EQ(CheckSameList(records, {}), COPSE_OK);
  EXPECT_EQ(CheckSameList(records, {0, 2}), COPSE_ERR_MISMATCH);
}

TEST(CheckAllListedTest, WhoIsListedIsAMember) {
  const std::vector<uint32_t> list{3, 1};
  copse_subteam_params_t params{.mask = COPSE_SUBTEAM_PARAM_FIELD_RANKS, .ranks = list.data(), .rank_count = 2};
  EXPECT_EQ(CheckAllListed(params, {3, 1}), COPSE_OK);
  EXPECT_EQ(CheckAllListed(params, {3}), COPSE_ERR_MISMATCH);
  params.mask = COPSE_SUBTEAM_PARAM_FIELD_COLOR;
  EXPECT_EQ(CheckAllListed(params, {0}), COPSE_OK);
}

TEST(SubteamNameTest, FitsAndStaysUnique) {
  EXPECT_EQ(SubteamName("world", 3), "world/3");
  std::set<std::string> names;
  for (const std::string& parent : {std::string(127, 'a'), std::string(126, 'a') + "b", std::string(126, 'a')}) {
    for (uint64_t number = 1; number <= 3; ++number) {
      const std::string name = SubteamName(parent, number);
      EXPECT_LT(name.size(), attach::kNameBytes);
      EXPECT_TRUE(names.insert(name).second) << name;
    }
  }
  EXPECT_LT(SubteamName(std::string(127, 'a'), UINT64_MAX).size(), attach::kNameBytes);
}

}  // namespace
}  // namespace copse::client
