// SPDX-License-Identifier: Apache-2.0
//
// How the planner issues ids for sub-teams that daemons form, and what it makes of their reports.
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::TeamFormed;
using schedule::TeamIds;
using schedule::TeamIdsRequest;

class SubTeamsTest : public CoordinatorTest {
 protected:
  SubTeamsTest() {
    for (const SessionId session : {1, 2}) RegisterForming(session);
    parent = FormTeam();
    duplicate = {.layout = {.id = NewId(), .identity = {1000, "job", 0, "t/1"}, .parent = parent.layout.id},
                 .parent_epoch = EpochId{1}};
  }

  void RegisterForming(SessionId session, std::vector<schedule::RunningTeam> teams = {}) {
    schedule::Register message{Announce(absl::StrCat("n", session), 1), std::move(teams)};
    message.node.features.insert(schedule::Feature::kSubTeams);
    EXPECT_TRUE(RegisterAs(session, message).features.contains(schedule::Feature::kSubTeams));
  }
  TeamId NewId(SessionId session = 1) {
    coordinator->OnMessage(session, TeamIdsRequest{});
    return sink.Take<TeamIds>(session).first;
  }

  schedule::Prepare parent;
  TeamFormed duplicate;
};

TEST_F(SubTeamsTest, PrepareSaysWhetherAllDaemonsFormThem) {
  EXPECT_TRUE(parent.has_sub_teams);
  Register(3, "n3", 1);  // a daemon without the feature
  Join(1, 0, 2, 5, "of both versions");
  Join(3, 1, 2, 5, "of both versions");
  EXPECT_FALSE(sink.Take<schedule::Prepare>(1).has_sub_teams);
}

TEST_F(SubTeamsTest, IdsAreIssuedOnce) {
  coordinator->OnMessage(1, TeamIdsRequest{});
  coordinator->OnMessage(2, TeamIdsRequest{});
  const auto first = sink.Take<TeamIds>(1), second = sink.Take<TeamIds>(2);
  EXPECT_GE(first.count, 1u);
  EXPECT_GE(second.first.value(), first.first.value() + first.count);
  const auto next = FormTeam("next").layout.id;
  EXPECT_GE(next.value(), second.first.value() + second.count);
  Restart();
  for (const SessionId session : {1, 2}) RegisterForming(session);
  sink.sent.clear();
  EXPECT_GT(NewId(), next);
}

TEST_F(SubTeamsTest, IdsOfATermThatIsUsedUpAreOfTheNext) {
  TeamId last{0};
  for (uint64_t issued = 0; issued < 2 * kIdsPerTerm;) {
    coordinator->OnMessage(1, TeamIdsRequest{});
    const auto ids = sink.Take<TeamIds>(1);
    issued += ids.count;
    ASSERT_GT(ids.first, last);
    last = TeamId(ids.first.value() + ids.count - 1);
    ASSERT_EQ(TermOf(ids.first), TermOf(last));
  }
}

TEST_F(SubTeamsTest, FormedTeamsAreListedAndEnd) {
  coordinator->OnMessage(1, duplicate);
  const absl::StatusOr<TeamInfo> listed = coordinator->view().FindTeam(duplicate.layout.id);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->state, "ready");
  EXPECT_EQ(listed->layout.nodes, parent.layout.nodes);
  EXPECT_EQ(listed->layout.shape, parent.layout.shape);
  Advance(absl::Seconds(1));
  EXPECT_EQ(coordinator->view().Plans().size(), 2 * parent.plans.size());
  coordinator->OnMessage(2, duplicate);
  coordinator->OnMessage(2, schedule::LeaveTeam{duplicate.layout.id});
  EXPECT_TRUE(Silent());
  coordinator->OnMessage(1, schedule::LeaveTeam{duplicate.layout.id});
  TakeBoth<schedule::EndTeam>();
  EXPECT_FALSE(coordinator->view().FindTeam(duplicate.layout.id).ok());
  EXPECT_EQ(State(parent.layout.id), "ready");
}

// A member may leave before another one has reported the team.
TEST_F(SubTeamsTest, ReportOfOneMemberIsEnough) {
  coordinator->OnMessage(2, duplicate);
  coordinator->OnMessage(2, schedule::LeaveTeam{duplicate.layout.id});
  EXPECT_EQ(State(duplicate.layout.id), "ready");
  coordinator->OnMessage(1, duplicate);
  coordinator->OnMessage(1, schedule::LeaveTeam{duplicate.layout.id});
  EXPECT_FALSE(coordinator->view().FindTeam(duplicate.layout.id).ok());
}

TEST_F(SubTeamsTest, BreakOfAFormedTeamIsPassedOn) {
  coordinator->OnMessage(1, duplicate);
  coordinator->OnMessage(1, schedule::TeamBroken{duplicate.layout.id, {Failure::kMemberLost, "gone"}});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(2).why.text, "gone");
  coordinator->OnMessage(2, duplicate);  // it was on its way
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(2).why.text, "gone");
  EXPECT_TRUE(Silent());
}

TEST_F(SubTeamsTest, DerivedTeamsWaitForTheReportsOfAllMembers) {
  coordinator->OnMessage(1, duplicate);
  schedule::JoinTeam join{.request = 5, .identity = duplicate.layout.identity, .parent = duplicate.layout.id};
  join.identity.family = Family::kRooted;
  join.size = 2;
  coordinator->OnMessage(1, join);
  Advance(absl::Seconds(1));
  EXPECT_TRUE(Silent());
  coordinator->OnMessage(2, duplicate);
  EXPECT_EQ(TakeBoth<schedule::Prepare>().layout.parent, duplicate.layout.id);
}

// It has left the team while the planner could not be reached, and has connected before another member's report.
TEST_F(SubTeamsTest, MemberThatDoesNotReportHasLeft) {
  coordinator->OnMessage(1, duplicate);
  schedule::JoinTeam join{.request = 5, .identity = duplicate.layout.identity, .parent = duplicate.layout.id};
  join.identity.family = Family::kRooted;
  join.size = 2;
  coordinator->OnMessage(1, join);
  Advance(absl::Seconds(14));
  EXPECT_TRUE(Silent());
  Advance(absl::Seconds(2));
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.cause, FailureCause::kMemberLeft);
  coordinator->OnMessage(1, schedule::LeaveTeam{duplicate.layout.id});
  EXPECT_FALSE(coordinator->view().FindTeam(duplicate.layout.id).ok());
}

TEST_F(SubTeamsTest, PlansOfAnotherEpochAreNotShown) {
  duplicate.parent_epoch = EpochId{3};
  coordinator->OnMessage(1, duplicate);
  Advance(absl::Seconds(1));
  EXPECT_EQ(State(duplicate.layout.id), "ready");
  EXPECT_EQ(coordinator->view().Plans().size(), parent.plans.size());
}

TEST_F(SubTeamsTest, ReportsOfOtherShapesHaveLayoutAndPlans) {
  TeamFormed part{.layout = parent.layout};
  part.layout.id = NewId(2);
  part.layout.parent = parent.layout.id;
  part.layout.identity.name = "t/2";
  coordinator->OnMessage(2, part);
  Advance(absl::Seconds(1));
  EXPECT_EQ(coordinator->view().Plans().size(), parent.plans.size());
  part.plans = parent.plans;
  coordinator->OnMessage(1, part);  // the first node has the plans
  Advance(absl::Seconds(1));
  EXPECT_EQ(coordinator->view().Plans().size(), 2 * parent.plans.size());
}

TEST_F(SubTeamsTest, ReportsThatAreNoneAreIgnored) {
  TeamFormed other = duplicate;
  other.layout.parent = TeamId{0};
  coordinator->OnMessage(1, other);
  other = duplicate;
  other.layout.parent = TeamId{99};
  coordinator->OnMessage(1, other);
  other = duplicate;
  other.layout.id = parent.layout.id;
  coordinator->OnMessage(1, other);
  other = duplicate;
  other.parent_epoch = EpochId{0};  // no nodes, no ranks
  coordinator->OnMessage(1, other);
  EXPECT_TRUE(Silent());
  EXPECT_EQ(coordinator->view().Teams().size(), 1u);
  Register(3, "n3", 1);
  coordinator->OnMessage(3, duplicate);  // it is no member
  EXPECT_EQ(coordinator->view().Teams().size(), 1u);
  EXPECT_EQ(State(parent.layout.id), "ready");
}

// The planner returns while members still wait for the team's Commit.
TEST_F(SubTeamsTest, MemberThatRegisteredBeforeItsCommitIsInTheTeam) {
  schedule::RunningTeam running = Running(parent, 1);
  schedule::TeamLayout layout = parent.layout;
  layout.id = duplicate.layout.id;
  layout.identity = duplicate.layout.identity;
  layout.parent = parent.layout.id;
  schedule::RunningTeam child{.layout = layout, .epoch = EpochId{1}, .plans = running.plans};
  Restart();
  RegisterForming(2, {running});
  RegisterForming(1, {running, child});
  coordinator->OnMessage(2, duplicate);
  coordinator->OnMessage(1, schedule::LeaveTeam{duplicate.layout.id});
  EXPECT_EQ(State(duplicate.layout.id), "ready");
  coordinator->OnMessage(2, schedule::LeaveTeam{duplicate.layout.id});
  EXPECT_FALSE(coordinator->view().FindTeam(duplicate.layout.id).ok());
}

}  // namespace
}  // namespace copse::coordinator
