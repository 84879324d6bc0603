// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/planner_session.h"

#include <string>
#include <variant>
#include <vector>

#include "base/testing/status_matchers.h"
#include "daemon/core/drain_state.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;
using schedule::Feature;

class PlannerSessionTest : public ::testing::Test, public PlannerLink {
 protected:
  void Send(const schedule::FromDaemon& message) override { sent_.push_back(message); }

  const absl::Time kStart = absl::FromUnixSeconds(100);
  std::vector<schedule::FromDaemon> sent_;
  PlannerSession session_{this, kStart};
};

TEST_F(PlannerSessionTest, MessagesAreDroppedWithoutAStream) {
  session_.Send(schedule::LeaveTeam{});
  EXPECT_TRUE(sent_.empty());
  session_.Up({});
  session_.Send(schedule::LeaveTeam{});
  EXPECT_EQ(sent_.size(), 2u);
  session_.Down(kStart);
  session_.Send(schedule::LeaveTeam{});
  EXPECT_EQ(sent_.size(), 2u);
}

schedule::JoinTeam JoinOf(uint64_t request, uint32_t rank, const std::string& team = "t") {
  return {.request = request, .identity = {.uid = 1, .name = team}, .rank = Rank(rank), .size = 1000};
}

TEST_F(PlannerSessionTest, JoinsOfATeamAreSentTogether) {
  session_.Up({});
  session_.OnRegistered({.accepted = true, .features = {Feature::kJoinsByNode}}, kStart);
  sent_.clear();
  session_.Send(JoinOf(1, 7));
  session_.Send(JoinOf(2, 0, "u"));
  session_.Send(JoinOf(3, 5));
  EXPECT_TRUE(sent_.empty());
  EXPECT_TRUE(session_.has_joins());
  session_.Flush();
  schedule::JoinTeam both = JoinOf(1, 7);
  both.more = {{3, Rank(5)}};
  EXPECT_EQ(sent_, (std::vector<schedule::FromDaemon>{both, JoinOf(2, 0, "u")}));
  EXPECT_FALSE(session_.has_joins());
  session_.Flush();
  EXPECT_EQ(sent_.size(), 2u);
}

TEST_F(PlannerSessionTest, NoMessageOvertakesAJoin) {
  session_.Up({});
  session_.OnRegistered({.accepted = true, .features = {Feature::kJoinsByNode}}, kStart);
  sent_.clear();
  session_.Send(JoinOf(1, 0));
  session_.Send(schedule::CancelJoin{.request = 1, .why = {}});
  EXPECT_EQ(sent_, (std::vector<schedule::FromDaemon>{JoinOf(1, 0), schedule::CancelJoin{.request = 1, .why = {}}}));
  schedule::JoinTeam derived = JoinOf(2, 0);
  derived.identity.family = Family::kRooted;
  session_.Send(derived);
  EXPECT_EQ(sent_.size(), 3u) << "it is the node's only one";
}

TEST_F(PlannerSessionTest, AMessageHasABoundedNumberOfJoins) {
  session_.Up({});
  session_.OnRegistered({.accepted = true, .features = {Feature::kJoinsByNode}}, kStart);
  sent_.clear();
  for (uint32_t rank = 0; rank <= schedule::kJoinsPerMessageMax; ++rank) session_.Send(JoinOf(rank, rank));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(std::get<schedule::JoinTeam>(sent_[0]).more.size(), schedule::kJoinsPerMessageMax - 1);
  for (uint32_t team = 0; team < 1000; ++team) session_.Send(JoinOf(team, 0, std::to_string(team)));
  EXPECT_GT(sent_.size(), 900u);
  session_.Flush();
  EXPECT_EQ(sent_.size(), 1002u);
}

TEST_F(PlannerSessionTest, JoinsAreForgottenWithTheStream) {
  session_.Up({});
  session_.OnRegistered({.accepted = true, .features = {Feature::kJoinsByNode}}, kStart);
  session_.Send(JoinOf(1, 0));
  session_.Down(kStart);
  session_.Up({});
  session_.OnRegistered({.accepted = true}, kStart);
  sent_.clear();
  session_.Flush();
  EXPECT_TRUE(sent_.empty()) << "Formations sends them again";
  session_.Send(JoinOf(1, 0));
  session_.Send(JoinOf(2, 1));
  EXPECT_EQ(sent_, (std::vector<schedule::FromDaemon>{JoinOf(1, 0), JoinOf(2, 1)})) << "to an earlier planner";
}

TEST_F(PlannerSessionTest, ThePlannersAnswerRegisters) {
  session_.Up({});
  EXPECT_FALSE(session_.registered());
  session_.OnRegistered({.accepted = true, .features = {Feature::kSilence}, .term = 7}, kStart);
  EXPECT_TRUE(session_.registered());
  EXPECT_TRUE(session_.Has(Feature::kSilence));
  EXPECT_FALSE(session_.Has(Feature::kStopping));
  session_.Down(kStart);
  EXPECT_FALSE(session_.registered());
  EXPECT_FALSE(session_.Has(Feature::kSilence));
}

TEST_F(PlannerSessionTest, TheNewestPlannersTermIsTold) {
  session_.Up({});
  session_.OnRegistered({.accepted = true, .term = 7}, kStart);
  session_.OnRegistered({.accepted = true, .term = 5}, kStart);
  session_.Up({});
  EXPECT_EQ(std::get<schedule::Register>(sent_.back()).term, 7u);
}

TEST_F(PlannerSessionTest, TheLastPlannersClusterIsToldWithItsTerm) {
  session_.Up({});
  session_.OnRegistered({.accepted = true, .term = 7, .cluster = "A"}, kStart);
  session_.OnRegistered({.accepted = true, .term = 3}, kStart);  // a planner of an earlier version
  session_.OnRegistered({.accepted = false, .term = 9, .cluster = "B"}, kStart);
  session_.Up({});
  EXPECT_EQ(std::get<schedule::Register>(sent_.back()).cluster, "A");
  EXPECT_EQ(std::get<schedule::Register>(sent_.back()).term, 7u);
  session_.OnRegistered({.accepted = true, .term = 2, .cluster = "B"}, kStart);
  session_.Up({});
  EXPECT_EQ(std::get<schedule::Register>(sent_.back()).cluster, "B");
  EXPECT_EQ(std::get<schedule::Register>(sent_.back()).term, 2u);
  session_.SetCluster("C");
  session_.Up({});
  EXPECT_EQ(std::get<schedule::Register>(sent_.back()).cluster, "C");
}

TEST_F(PlannerSessionTest, ARefusalIsKeptUntilItIsTakenBack) {
  EXPECT_EQ(session_.refusal(), schedule::FailureReport{});
  session_.Up({});
  session_.OnRegistered({.accepted = false, .why = {schedule::Failure::kVersion, "too old"}}, kStart);
  EXPECT_FALSE(session_.registered());
  EXPECT_EQ(session_.refusal().failure, schedule::Failure::kVersion);
  const schedule::FailureReport why = session_.MissingReport("n3");
  EXPECT_EQ(why.cause, FailureCause::kNoPlanner);
  EXPECT_EQ(why.node, "n3");
  EXPECT_THAT(why.text, Names("node=n3", "too old"));
  session_.OnRegistered({.accepted = true}, kStart);
  EXPECT_EQ(session_.refusal(), schedule::FailureReport{});
  session_.OnRegistered({.accepted = false}, kStart);
  EXPECT_FALSE(session_.registered());
}

TEST_F(PlannerSessionTest, ItIsMissingSinceItWasLost) {
  const absl::Duration patience = absl::Seconds(5);
  EXPECT_FALSE(session_.IsMissing(kStart + absl::Seconds(4), patience));
  EXPECT_TRUE(session_.IsMissing(kStart + patience, patience));
  session_.Up({});
  EXPECT_TRUE(session_.IsMissing(kStart + patience, patience));  // not registered yet
  session_.OnRegistered({.accepted = true}, kStart);
  EXPECT_FALSE(session_.IsMissing(kStart + absl::Hours(1), patience));
  session_.Down(kStart + absl::Hours(1));
  session_.Down(kStart + absl::Hours(2));  // still
  EXPECT_FALSE(session_.IsMissing(kStart + absl::Hours(1) + absl::Seconds(4), patience));
  EXPECT_TRUE(session_.IsMissing(kStart + absl::Hours(1) + patience, patience));
}

TEST_F(PlannerSessionTest, ItIsMissingSinceThePlannerRefusedIt) {
  const absl::Time refused = kStart + absl::Hours(1);
  const absl::Duration patience = absl::Seconds(5);
  session_.Up({});
  session_.OnRegistered({.accepted = true}, kStart);
  session_.OnRegistered({.accepted = false}, refused);
  EXPECT_FALSE(session_.IsMissing(refused + absl::Seconds(4), patience));
  session_.OnRegistered({.accepted = false}, refused + absl::Seconds(2));  // still
  EXPECT_TRUE(session_.IsMissing(refused + patience, patience));
}

TEST(DrainStateTest, AStopIsForGoodAndHasTheLastWord) {
  DrainState drain;
  EXPECT_EQ(drain.reason(), "");
  EXPECT_TRUE(drain.SetDrained(true));
  EXPECT_FALSE(drain.SetDrained(true));
  EXPECT_NE(drain.reason(), "");
  EXPECT_FALSE(drain.SetDrained(false));
  EXPECT_EQ(drain.reason(), "");
  EXPECT_TRUE(drain.Stop("it ends"));
  EXPECT_FALSE(drain.Stop("again"));
  drain.SetDrained(true);
  EXPECT_EQ(drain.reason(), "it ends");
}

}  // namespace
}  // namespace copse::daemon
