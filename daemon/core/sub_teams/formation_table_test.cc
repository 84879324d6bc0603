// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/formation_table.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/fake_clock.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using schedule::Failure;
using State = SubTeamFormation::State;

class FormationTableTest : public testing::Test {
 protected:
  static SubTeamKey Key(uint64_t parent, const std::string& name) { return {TeamId(parent), {.uid = 1, .name = name}}; }

  const SubTeamKey key_ = Key(7, "a");
  const SubTeamOutcome late_{{Failure::kTimedOut, "late"}, false};
  FakeClock clock_;
  FormationTable table_{&clock_};
};

TEST_F(FormationTableTest, FormationsAreLimitedThoseThatAreOverIncluded) {
  for (size_t i = 0; i < FormationTable::kMax; ++i) ASSERT_NE(table_.Begin(Key(1, absl::StrCat("t/", i))), nullptr);
  table_.End(Key(1, "t/0"), late_);
  EXPECT_EQ(table_.Begin(key_), nullptr);
  EXPECT_EQ(table_.Begin(Key(1, "t/1")), table_.Find(Key(1, "t/1"))) << "it is there already";
  table_.Take(Key(1, "t/0"));
  EXPECT_NE(table_.Begin(key_), nullptr);
}

TEST_F(FormationTableTest, EachRankGetsTheOutcomeOnceAndTriesAgainThen) {
  table_.Begin(key_)->passed = {Rank(0)};
  EXPECT_EQ(table_.OutcomeFor(key_, {Rank(1)}, true), nullptr) << "it is not over";
  clock_.Advance(absl::Seconds(3));
  table_.End(key_, late_);
  EXPECT_EQ(table_.at(key_).since, clock_.Now());
  const SubTeamOutcome* const outcome = table_.OutcomeFor(key_, {Rank(1)}, true);
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(outcome->why, late_.why);
  EXPECT_NE(table_.OutcomeFor(key_, {Rank(1)}, false), nullptr) << "a rank that does not join tries nothing";
  EXPECT_EQ(table_.OutcomeFor(key_, {Rank(1)}, true), nullptr);
  EXPECT_EQ(table_.Find(key_), nullptr);
}

TEST_F(FormationTableTest, EndReturnsWhatTheFormationWas) {
  table_.Begin(key_)->own = {{Rank(2), 40}};
  const SubTeamFormation ended = table_.End(key_, late_);
  EXPECT_EQ(ended.own.at(Rank(2)), 40u);
  EXPECT_EQ(ended.state, State::kGathering);
  EXPECT_EQ(table_.at(key_).state, State::kOver);
  table_.CheckInvariants();
}

TEST_F(FormationTableTest, FormationsAreFoundByParentByIdAndByJoin) {
  table_.Begin(Key(6, "z"));
  table_.Begin(key_)->own = {{Rank(2), 40}, {Rank(3), 41}};
  table_.Begin(Key(7, "b"))->state = State::kPreparing;
  table_.Begin(Key(8, ""));
  table_.SetId(Key(7, "b"), TeamId(50));
  table_.CheckInvariants();
  EXPECT_EQ(table_.KeysOf(TeamId(7)), (std::vector<SubTeamKey>{key_, Key(7, "b")}));
  EXPECT_EQ(table_.Keys().size(), 4u);
  EXPECT_EQ(table_.KeyOf(TeamId(50)), Key(7, "b"));
  EXPECT_EQ(table_.at(Key(7, "b")).id, TeamId(50));
  EXPECT_EQ(table_.FindJoin(41), std::pair(key_, Rank(3)));
  EXPECT_EQ(table_.FindJoin(42), std::nullopt);
}

TEST_F(FormationTableTest, IdsAreReleasedWithTheirFormations) {
  for (const char* name : {"b", "c", "d"}) table_.Begin(Key(7, name))->state = State::kPreparing;
  table_.SetId(Key(7, "b"), TeamId(50));
  table_.SetId(Key(7, "c"), TeamId(51));
  table_.SetId(Key(7, "d"), TeamId(52));
  EXPECT_EQ(table_.Take(Key(7, "b")).id, TeamId(50));
  EXPECT_EQ(table_.End(Key(7, "c"), late_).id, TeamId(51));
  EXPECT_EQ(table_.KeyOf(TeamId(50)), std::nullopt);
  EXPECT_FALSE(table_.HasId(TeamId(51)));
  EXPECT_TRUE(table_.HasId(TeamId(52)));
  table_.CheckInvariants();
}

}  // namespace
}  // namespace copse::daemon
