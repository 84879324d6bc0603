// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/join_table.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace copse::coordinator {
namespace {

std::vector<Rank> Ranks(const std::vector<uint32_t>& values) {
  std::vector<Rank> ranks;
  for (const uint32_t value : values) ranks.push_back(Rank{value});
  return ranks;
}

TEST(RankListTest, JoinsNeighborsAndCutsLongLists) {
  EXPECT_EQ(schedule::RankList({}), "");
  EXPECT_EQ(schedule::RankList(Ranks({2, 5, 6})), "2,5-6");
  EXPECT_EQ(schedule::RankList(Ranks({0, 1, 2, 3})), "0-3");
  std::vector<uint32_t> odd;
  for (uint32_t i = 1; i < 1000; i += 2) odd.push_back(i);
  const std::string cut = schedule::RankList(Ranks(odd));
  EXPECT_LT(cut.size(), 70u);
  EXPECT_EQ(cut.substr(cut.size() - 4), ",...");
}

Join JoinOf(uint64_t session, uint32_t rank, uint32_t size, const std::string& name, uint64_t parent = 0) {
  Join join;
  join.session = session;
  join.node = "n";
  join.message.request = rank;
  join.message.identity.name = name;
  join.message.parent = TeamId{parent};
  join.message.rank = Rank{rank};
  join.message.size = size;
  return join;
}

TEST(JoinTableTest, CompletesInRankOrderByIdentityAndParent) {
  JoinTable table(100, 100);
  const absl::Time now = absl::UnixEpoch();
  EXPECT_EQ(table.Add(JoinOf(1, 1, 2, "a"), now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Add(JoinOf(1, 0, 2, "a", 7), now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Add(JoinOf(1, 0, 2, "b"), now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.List().size(), 3u);
  const Gathered complete = table.Add(JoinOf(2, 0, 2, "a"), now, absl::Seconds(1));
  ASSERT_EQ(complete.state, Gathered::State::kComplete);
  EXPECT_EQ(complete.joins[0].session, 2u);
  EXPECT_EQ(complete.joins[1].session, 1u);
  EXPECT_EQ(table.List().size(), 2u);
  EXPECT_EQ(table.NextDeadline(), now + absl::Seconds(1));
  EXPECT_TRUE(table.TakeLate(now).empty());
  EXPECT_EQ(table.TakeLate(now + absl::Seconds(1)).size(), 2u);
  EXPECT_EQ(table.NextDeadline(), absl::InfiniteFuture());
}

TEST(JoinTableTest, HeldFormationsCompleteAtRelease) {
  JoinTable table(100, 100);
  const absl::Time now = absl::UnixEpoch();
  table.Hold();
  EXPECT_EQ(table.Add(JoinOf(1, 0, 1, "whole"), now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Add(JoinOf(1, 0, 2, "half"), now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Add(JoinOf(2, 0, 1, "gone"), now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  table.Drop(2);
  const std::vector<Gathered> late = table.TakeLate(now + absl::Seconds(2));
  ASSERT_EQ(late.size(), 1u) << "what is complete is not late";
  EXPECT_EQ(late[0].why.cause, FailureCause::kNotFormedInTime);
  EXPECT_EQ(late[0].why.limit, 1000u);
  const std::vector<Gathered> complete = table.Release();
  ASSERT_EQ(complete.size(), 1u);
  EXPECT_EQ(complete[0].joins[0].message.identity.name, "whole");
  EXPECT_EQ(table.Add(JoinOf(1, 0, 1, "next"), now, absl::Seconds(1)).state, Gathered::State::kComplete);
  EXPECT_TRUE(table.Release().empty());
}

}  // namespace
}  // namespace copse::coordinator
