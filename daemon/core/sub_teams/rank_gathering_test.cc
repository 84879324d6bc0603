// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/rank_gathering.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;
using schedule::Failure;

TEST(RankGatheringTest, CompleteWithAllRanks) {
  RankGathering gathering;
  EXPECT_FALSE(gathering.complete());
  EXPECT_EQ(gathering.Add(NodeIndex(1), "n1", {Rank(2), Rank(0)}, 3).failure, Failure::kNone);
  EXPECT_EQ(gathering.Add(NodeIndex(1), "n1", {Rank(2)}, 3).failure, Failure::kNone);  // the join came twice
  EXPECT_FALSE(gathering.complete());
  EXPECT_EQ(gathering.Add(NodeIndex(0), "n0", {Rank(1)}, 3).failure, Failure::kNone);
  ASSERT_TRUE(gathering.complete());
  EXPECT_EQ(gathering.NodeOfRank(), (std::vector<NodeIndex>{NodeIndex(1), NodeIndex(0), NodeIndex(1)}));
}

TEST(RankGatheringTest, MistakesAreNamed) {
  RankGathering gathering;
  EXPECT_EQ(gathering.Add(NodeIndex(1), "n1", {Rank(2)}, 4).failure, Failure::kNone);
  schedule::FailureReport why = gathering.Add(NodeIndex(0), "n0", {Rank(1)}, 3);
  EXPECT_EQ(why.failure, Failure::kMismatch);
  EXPECT_THAT(why.text, Names("4", "n1", "3", "n0"));
  why = gathering.Add(NodeIndex(0), "n0", {Rank(4)}, 4);
  EXPECT_EQ(why.failure, Failure::kInvalidArgument);
  EXPECT_THAT(why.text, Names("n0", "4", "limit 3"));
  why = gathering.Add(NodeIndex(0), "n0", {Rank(2)}, 4);
  EXPECT_EQ(why.failure, Failure::kMismatch);
  EXPECT_THAT(why.text, Names("rank 2", "n1", "n0"));
}

TEST(RankGatheringTest, LateRanksAreNamed) {
  RankGathering gathering;
  EXPECT_EQ(gathering.Add(NodeIndex(1), "n1", {Rank(2)}, 5).failure, Failure::kNone);
  const schedule::FailureReport why = gathering.Late(absl::Seconds(30));
  EXPECT_EQ(why.failure, Failure::kTimedOut);
  EXPECT_EQ(why.cause, FailureCause::kNotFormedInTime);
  EXPECT_THAT(why.text, Names("4 of 5", "30s", "0-1,3-4"));
  EXPECT_EQ(why.limit, 30'000u);
  EXPECT_EQ(why.rank, Rank(0));
}

}  // namespace
}  // namespace copse::daemon
