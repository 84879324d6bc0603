// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/join_table.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cpu_time.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::Names;

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
  EXPECT_EQ(table.Add({JoinOf(1, 1, 2, "a")}, now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Add({JoinOf(1, 0, 2, "a", 7)}, now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Add({JoinOf(1, 0, 2, "b")}, now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.size(), 3u);
  const Gathered complete = table.Add({JoinOf(2, 0, 2, "a")}, now, absl::Seconds(1));
  ASSERT_EQ(complete.state, Gathered::State::kComplete);
  EXPECT_EQ(complete.joins[0].session, 2u);
  EXPECT_EQ(complete.joins[1].session, 1u);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.NextDeadline(), now + absl::Seconds(1));
  EXPECT_TRUE(table.TakeLate(now).empty());
  EXPECT_EQ(table.TakeLate(now + absl::Seconds(1)).size(), 2u);
  EXPECT_EQ(table.NextDeadline(), absl::InfiniteFuture());
}

TEST(JoinTableTest, NobodyIsKeptOutByAnotherUsersFormations) {
  constexpr uint32_t kMax = 2048, kShared = kMax - kMax / 8, kFew = 2;
  JoinTable table(100, kMax);
  const absl::Time now = absl::UnixEpoch();
  uint32_t number = 0;
  const auto add = [&](uint32_t user) {
    Join join = JoinOf(1, 0, 2, absl::StrCat("t", number), 0);
    join.message.request = number++;
    join.message.identity.uid = user;
    return table.Add({join}, now, absl::Seconds(1));
  };
  for (uint32_t i = 0; i < kShared; ++i) ASSERT_EQ(add(1000).state, Gathered::State::kWaiting) << i;
  const Gathered refused = add(1000);
  EXPECT_EQ(refused.state, Gathered::State::kFailed);
  EXPECT_EQ(refused.why.failure, schedule::Failure::kNoResource);
  EXPECT_EQ(refused.why.limit, kShared);
  EXPECT_THAT(refused.why.text, HasSubstr(absl::StrCat("user=1000, used=", kShared, ", all=", kShared)));
  for (uint32_t user = 2000; table.size() < kMax; ++user) {
    for (uint32_t i = 0; i < kFew; ++i) ASSERT_EQ(add(user).state, Gathered::State::kWaiting) << user;
    EXPECT_EQ(add(user).state, Gathered::State::kFailed);
  }
  const Gathered full = add(9000);
  EXPECT_EQ(full.state, Gathered::State::kFailed);
  EXPECT_EQ(full.why.limit, kMax);

  // What has ended no longer counts, however it ended.
  EXPECT_EQ(table.Cancel(1, 0, {}).state, Gathered::State::kFailed);
  EXPECT_EQ(add(9000).state, Gathered::State::kWaiting);
  table.Drop(1);
  EXPECT_EQ(table.size(), 0u);
  for (uint32_t i = 0; i < kShared; ++i) ASSERT_EQ(add(1000).state, Gathered::State::kWaiting) << i;
  EXPECT_EQ(add(1000).state, Gathered::State::kFailed);
}

TEST(JoinTableTest, HeldFormationsCompleteAtRelease) {
  JoinTable table(100, 100);
  const absl::Time now = absl::UnixEpoch();
  table.Hold();
  EXPECT_EQ(table.Add({JoinOf(1, 0, 1, "whole")}, now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Add({JoinOf(1, 0, 2, "half")}, now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Add({JoinOf(2, 0, 1, "gone")}, now, absl::Seconds(1)).state, Gathered::State::kWaiting);
  table.Drop(2);
  const std::vector<Gathered> late = table.TakeLate(now + absl::Seconds(2));
  ASSERT_EQ(late.size(), 1u) << "what is complete is not late";
  EXPECT_EQ(late[0].why.cause, FailureCause::kNotFormedInTime);
  EXPECT_EQ(late[0].why.limit, 1000u);
  const std::vector<Gathered> complete = table.Release();
  ASSERT_EQ(complete.size(), 1u);
  EXPECT_EQ(complete[0].joins[0].message.identity.name, "whole");
  EXPECT_EQ(table.Add({JoinOf(1, 0, 1, "next")}, now, absl::Seconds(1)).state, Gathered::State::kComplete);
  EXPECT_TRUE(table.Release().empty());
}

TEST(JoinTableTest, ACanceledJoinIsFoundByItsSenderAlone) {
  JoinTable table(100, 100);
  const absl::Time now = absl::UnixEpoch();
  table.Add({JoinOf(1, 5, 9, "a")}, now, absl::Seconds(1));
  table.Add({JoinOf(2, 6, 9, "a")}, now, absl::Seconds(1));
  EXPECT_EQ(table.Cancel(1, 6, {}).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Cancel(3, 0, {}).state, Gathered::State::kWaiting);
  EXPECT_EQ(table.Cancel(2, 6, {}).joins.size(), 2u);
  EXPECT_EQ(table.Cancel(1, 5, {}).state, Gathered::State::kWaiting) << "it failed with the other";
  EXPECT_EQ(table.NextDeadline(), absl::InfiniteFuture());
}

TEST(JoinTableTest, AHeldFormationThatLosesAJoinIsLateAgain) {
  JoinTable table(100, 100);
  const absl::Time now = absl::UnixEpoch();
  table.Hold();
  for (const uint32_t rank : {0, 1}) table.Add({JoinOf(rank, rank, 2, "a")}, now, absl::Seconds(1));
  EXPECT_EQ(table.NextDeadline(), absl::InfiniteFuture());
  table.Drop(1);
  EXPECT_EQ(table.NextDeadline(), now + absl::Seconds(1));
  const std::vector<Gathered> late = table.TakeLate(now + absl::Seconds(1));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].why.rank, Rank(1));
  EXPECT_EQ(late[0].why.node, "n") << "it was dropped";
}

TEST(JoinTableTest, ALateFormationNamesItsFirstMissingRanks) {
  constexpr uint32_t kSize = 65536;
  JoinTable table(kSize, 100);
  const absl::Time now = absl::UnixEpoch();
  const auto late_text = [&](const std::vector<uint32_t>& ranks) {
    for (const uint32_t rank : ranks) table.Add({JoinOf(1, rank, kSize, "a")}, now, absl::Seconds(1));
    const std::vector<Gathered> late = table.TakeLate(now + absl::Seconds(1));
    return late.size() == 1 ? late[0].why.text : "";
  };
  EXPECT_THAT(late_text({3}), Names("65535 of 65536", "0-2,4-65535 (team="));
  EXPECT_THAT(late_text({0, 1, 65535}), Names("65533 of 65536", "2-65534 (team="));
  std::vector<uint32_t> even;
  for (uint32_t rank = 0; rank < kSize; rank += 2) even.push_back(rank);
  const std::string cut = late_text(even);
  EXPECT_THAT(cut, Names("32768 of 65536", "1,3,5,7,9,", ",... (team="));
}

// The times of other operations are compared to that of filling the table, which any table needs.
TEST(JoinTableTest, TenThousandFormationsThatNeverCompleteCostLittleEach) {
  constexpr uint32_t kCount = 10'000, kSize = 65'536;
  const absl::Time now = absl::UnixEpoch();
  JoinTable table(kSize, kCount + 2000);
  const auto fill = [&] {
    for (uint32_t i = 0; i < kCount; ++i) {
      Join join = JoinOf(i, 7, kSize, absl::StrCat("t", i));
      join.message.identity.uid = i;
      ASSERT_EQ(table.Add({join}, now, absl::Seconds(1)).state, Gathered::State::kWaiting);
    }
  };
  const auto cost = [](const auto& operation) {
    const absl::Duration before = ThreadCpuTime();
    operation();
    return ThreadCpuTime() - before;
  };
  const absl::Duration filled = cost(fill);
  EXPECT_LT(cost([&] {
              for (uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(table.NextDeadline(), now + absl::Seconds(1));
            }),
            10 * filled);
  EXPECT_LT(cost([&] {
              for (uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(table.Cancel(i, 7, {}).joins.size(), 1u);
            }),
            10 * filled);
  fill();
  EXPECT_LT(cost([&] {
              for (uint32_t i = 0; i < kCount; ++i) table.Drop(i);
            }),
            10 * filled);
  EXPECT_EQ(table.size(), 0u);
  fill();
  size_t formations = 0;
  EXPECT_LT(cost([&] {
              std::optional<Forming> forming;
              while ((forming = table.After(forming ? &forming->identity : nullptr, TeamId{0}))) ++formations;
            }),
            10 * filled);
  EXPECT_EQ(formations, kCount);
  size_t late = 0;
  EXPECT_LT(cost([&] {
              while (const size_t taken = table.TakeLate(now + absl::Seconds(1)).size()) {
                EXPECT_LE(taken, JoinTable::kLateFormationsMax);
                late += taken;
              }
            }),
            20 * filled);
  EXPECT_EQ(late, kCount);
}

TEST(JoinTableTest, LateFormationsOfManyJoinsAreTakenFewAtATime) {
  constexpr uint32_t kSize = 8192;
  JoinTable table(kSize, 100);
  const absl::Time now = absl::UnixEpoch();
  for (const char* name : {"a", "b", "c"}) {
    for (uint32_t rank = 1; rank < kSize; ++rank) table.Add({JoinOf(1, rank, kSize, name)}, now, absl::Seconds(1));
  }
  EXPECT_EQ(table.TakeLate(now + absl::Seconds(1)).size(), 1u);
  EXPECT_EQ(table.TakeLate(now + absl::Seconds(1)).size(), 1u);
  EXPECT_EQ(table.NextDeadline(), now + absl::Seconds(1));
  EXPECT_EQ(table.TakeLate(now + absl::Seconds(1)).size(), 1u);
  EXPECT_TRUE(table.TakeLate(now + absl::Seconds(1)).empty());
}

}  // namespace
}  // namespace copse::coordinator
