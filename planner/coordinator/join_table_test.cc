// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/join_table.h"

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

TEST(RankListTest, JoinsNeighboursAndCutsLongLists) {
  EXPECT_EQ(RankList({}), "");
  EXPECT_EQ(RankList(Ranks({2, 5, 6})), "2,5-6");
  EXPECT_EQ(RankList(Ranks({0, 1, 2, 3})), "0-3");
  std::vector<uint32_t> odd;
  for (uint32_t i = 1; i < 1000; i += 2) odd.push_back(i);
  const std::string cut = RankList(Ranks(odd));
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

}  // namespace
}  // namespace copse::coordinator
