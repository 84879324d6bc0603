// SPDX-License-Identifier: Apache-2.0
//
// How teams end and break.
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;
using testing::FailsWith;
using testing::Names;
using ::testing::Pair;

TEST_F(TeamTest, TeamEndsWhenAllHaveLeft) {
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  EXPECT_TRUE(Silent());
  EXPECT_EQ(store.Load()->teams.size(), 1u);
  coordinator->OnMessage(2, schedule::LeaveTeam{team.layout.id});
  TakeBoth<schedule::EndTeam>();
  EXPECT_TRUE(store.Load()->teams.empty());
  coordinator->OnMessage(2, schedule::LeaveTeam{team.layout.id});  // repeated: answered again
  sink.Take<schedule::EndTeam>(2);
  // A daemon that missed the end comes back with the team.
  EXPECT_EQ(Register(3, "n2", 1, {Running(team, 1)}).forgotten, (std::vector<TeamId>{team.layout.id}));
}

TEST_F(TeamTest, BrokenIsPassedOnAndRecorded) {
  coordinator->OnMessage(2,
                         schedule::TeamBroken{team.layout.id, {Failure::kMemberLost, "rank 1: process 7 was killed"}});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text, "rank 1: process 7 was killed");
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(team.layout.id), "broken");
  EXPECT_EQ(coordinator->view().FindTeam(team.layout.id)->why, "rank 1: process 7 was killed");
  coordinator->OnMessage(1, schedule::TeamBroken{team.layout.id, {}});
  EXPECT_TRUE(Silent());
  coordinator->OnMessage(1, schedule::TeamBroken{TeamId{99}, {}});
  EXPECT_TRUE(Silent());
  Restart();
  EXPECT_EQ(State(team.layout.id), "broken");
  Register(1, "n1", 1, {Running(team, 1)});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text, "rank 1: process 7 was killed");
  EXPECT_THAT(
      coordinator->BreakTeam(team.layout.id, ""),
      FailsWith(absl::StatusCode::kFailedPrecondition, absl::StrCat("team ", team.layout.id.value()), "process 7"));
}

TEST_F(TeamTest, AdministratorBreaks) {
  EXPECT_EQ(coordinator->BreakTeam(TeamId{99}, "").code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(coordinator->BreakTeam(team.layout.id, "enough").ok());
  EXPECT_THAT(Brief(TakeBoth<schedule::BreakTeam>().why), Pair(Failure::kCanceled, Names("enough")));
}

TEST_F(TeamTest, NewIncarnationBreaksTheOldOnesTeams) {
  coordinator->OnDisconnected(2);
  EXPECT_TRUE(Register(3, "n2", 5).accepted);
  EXPECT_THAT(Brief(sink.Take<schedule::BreakTeam>(1).why),
              Pair(Failure::kMemberLost, Names("incarnation=1", "now=5", "node n2")));
  EXPECT_TRUE(sink.sent[3].empty());
  coordinator->OnMessage(3, schedule::LeaveTeam{team.layout.id});  // not a member: it is ordered to forget the team
  sink.Take<schedule::EndTeam>(3);
}

TEST_F(TeamTest, NotListedMeansLeft) {
  coordinator->OnDisconnected(2);
  Register(3, "n2", 1);
  EXPECT_EQ(State(team.layout.id), "ready");
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  sink.Take<schedule::EndTeam>(1);
}

TEST_F(TeamTest, NotHeldForLongMeansLeft) {
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  const auto list = [this](std::vector<TeamId> held) { coordinator->OnMessage(2, schedule::TeamsHeld{held}); };
  list({});
  list({});  // too soon after the one before
  Advance(absl::Minutes(1));
  list({team.layout.id});
  Advance(absl::Minutes(1));
  list({});
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(team.layout.id), "ready");
  Advance(absl::Minutes(1));
  list({});
  TakeBoth<schedule::EndTeam>();
  EXPECT_TRUE(store.Load()->teams.empty());
}

TEST_F(TwoNodesTest, TeamIsNotHeldWhileItIsPrepared) {
  options.prepare_timeout = absl::Hours(1);
  coordinator->SetLive(options);
  const auto prepare = StartTeam();
  for (int minute = 0; minute < 3; ++minute) {
    coordinator->OnMessage(2, schedule::TeamsHeld{});
    Advance(absl::Minutes(1));
  }
  AcceptBoth(prepare);
  TakeBoth<schedule::Commit>();
}

TEST_F(TeamTest, EndedTeamThatIsHeldForLongEndsThere) {
  for (const SessionId session : {1, 2}) coordinator->OnMessage(session, schedule::LeaveTeam{team.layout.id});
  TakeBoth<schedule::EndTeam>();
  const TeamId unknown{team.layout.id.value() + 1};
  const auto list = [&] { coordinator->OnMessage(2, schedule::TeamsHeld{{team.layout.id, unknown}}); };
  list();
  EXPECT_TRUE(Silent());
  Advance(absl::Minutes(1));
  list();
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(2).team, team.layout.id);
  EXPECT_EQ(sink.Take<schedule::EndTeam>(2).team, team.layout.id);
  // Its ranks may keep the broken team for hours.
  Advance(absl::Minutes(1));
  list();
  EXPECT_TRUE(Silent());
}

TEST_F(TwoNodesTest, AcceptedAndNotListedBreaks) {
  const auto p1 = StartTeam();
  AcceptBoth(p1);
  sink.Take<schedule::Commit>(1);
  coordinator->OnDisconnected(2);  // the Commit is lost with the stream
  Register(3, "n2", 1);
  EXPECT_THAT(sink.Take<schedule::BreakTeam>(1).why.text,
              Names("node n2", absl::StrCat("team ", p1.layout.id.value()), "epoch 1"));
}

TEST_F(TeamTest, DaemonThatComesBackBrokenBreaksTheTeam) {
  coordinator->OnDisconnected(2);
  auto running = Running(team, 1);
  running.broken = true;
  running.why = {Failure::kMemberLost, "rank 1 lost", FailureCause::kProcessDied, "n2", Rank(1), 0};
  Register(3, "n2", 1, {running});
  const FailureReport why = sink.Take<schedule::BreakTeam>(1).why;
  EXPECT_THAT(why.text, Names("node n2", absl::StrCat("team ", team.layout.id.value()), "rank 1"));
  EXPECT_EQ(why.failure, Failure::kMemberLost);
  EXPECT_EQ(why.cause, FailureCause::kProcessDied);
  EXPECT_EQ(why.node, "n2");
  EXPECT_EQ(why.rank, Rank(1));
  EXPECT_TRUE(Silent());
}

}  // namespace
}  // namespace copse::coordinator
