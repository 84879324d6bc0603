// SPDX-License-Identifier: Apache-2.0
//
// Teams that change to new plans.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using absl::StatusCode;
using schedule::Failure;
using testing::FailsWith;
using testing::Names;

class EpochSwitchTest : public TeamTest {
 protected:
  void Replan(PlanOptions plan_options = {}) {
    result.reset();
    coordinator->ReplanTeam(team.layout.id, plan_options, [this](const absl::Status& status) { result = status; });
  }
  absl::Status Refusal() {
    Replan();
    return result.value_or(absl::OkStatus());
  }
  std::string Name() const { return absl::StrCat("team ", team.layout.id.value()); }

  std::optional<absl::Status> result;
};

TEST_F(EpochSwitchTest, CommitsBeyondTheFurthestNode) {
  Replan({.algorithm = "knomial-4"});
  const auto p1 = sink.Take<schedule::Prepare>(1), p2 = sink.Take<schedule::Prepare>(2);
  EXPECT_EQ(p1.epoch, EpochId{2});
  EXPECT_TRUE(p1.requests.empty());
  EXPECT_EQ(coordinator->view().FindTeam(team.layout.id)->epoch, EpochId{1});
  coordinator->OnMessage(1, Accept(p1, 0, 100));
  coordinator->OnMessage(2, Accept(p2, 1, 104));
  for (const SessionId session : {1, 2}) {
    const auto commit = sink.Take<schedule::Commit>(session);
    EXPECT_EQ(commit.first_call, CallSeq{104 + 8 + 1});
    EXPECT_EQ(commit.epoch, EpochId{2});
  }
  EXPECT_EQ(store.Load()->teams.at(team.layout.id).epoch, EpochId{2});
  coordinator->OnMessage(1, schedule::CommitReply{team.layout.id, EpochId{2}});
  EXPECT_FALSE(result.has_value());
  EXPECT_THAT(Refusal(), FailsWith(StatusCode::kFailedPrecondition, Name(), "epoch 2", "node n2"));
  coordinator->OnMessage(2, schedule::CommitReply{team.layout.id, EpochId{2}});
  EXPECT_EQ(result, absl::OkStatus()) << "the caller is told when all have confirmed";
  EXPECT_EQ(coordinator->view().Plans()[0].plan.algorithm, "knomial-4");
  EXPECT_EQ(coordinator->view().Plans()[0].epoch, EpochId{2});
}

TEST_F(EpochSwitchTest, ATeamThatChangesWhilePlansAreMadeIsNotSwitched) {
  plan_maker.later = true;
  Replan();
  coordinator->OnDisconnected(2);
  plan_maker.Finish();
  EXPECT_THAT(*result, FailsWith(StatusCode::kFailedPrecondition, Name(), "n2"));
  EXPECT_TRUE(Silent());
  Register(3, "n2", 1, {Running(team, 1)});
  Replan();
  ASSERT_TRUE(coordinator->BreakTeam(team.layout.id, "enough").ok());
  plan_maker.Finish();
  EXPECT_THAT(*result, FailsWith(StatusCode::kFailedPrecondition, Name(), "broken"));
}

TEST_F(EpochSwitchTest, OfTwoThatArePlannedAtOnceTheFirstIsMade) {
  plan_maker.later = true;
  std::vector<absl::Status> results(2, absl::UnknownError("not called"));
  for (absl::Status& status : results) {
    coordinator->ReplanTeam(team.layout.id, {}, [&status](const absl::Status& given) { status = given; });
  }
  plan_maker.Finish();
  EXPECT_THAT(results[1], FailsWith(StatusCode::kFailedPrecondition, Name(), "being replanned"));
  AcceptBoth(TakeBoth<schedule::Prepare>());
  TakeBoth<schedule::Commit>();
  for (const SessionId session : {1, 2}) {
    coordinator->OnMessage(session, schedule::CommitReply{team.layout.id, EpochId{2}});
  }
  EXPECT_EQ(results[0], absl::OkStatus());
}

TEST_F(EpochSwitchTest, TellsTheCallerWhenTheRecordIsDropped) {
  Replan();
  AcceptBoth(TakeBoth<schedule::Prepare>());
  coordinator->OnDisconnected(1);
  coordinator->OnDisconnected(2);
  for (int minute = 0; minute < 90; ++minute) Advance(absl::Minutes(1));
  EXPECT_FALSE(coordinator->view().FindTeam(team.layout.id).ok());
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(*result, FailsWith(StatusCode::kDataLoss, Name(), "record"));
}

TEST_F(EpochSwitchTest, RefusalTimeoutDisconnectionAndLeavingAbort) {
  Replan();
  auto p1 = sink.Take<schedule::Prepare>(1);
  schedule::PrepareReply refusal{team.layout.id, p1.epoch, false, {Failure::kNoMemory, "full"}, {}, {}};
  coordinator->OnMessage(2, refusal);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).epoch, EpochId{2});
  EXPECT_THAT(*result, FailsWith(StatusCode::kAborted, Name(), "node n2", "full"));
  EXPECT_EQ(State(team.layout.id), "ready");
  sink.sent.clear();

  Replan();
  p1 = sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(p1.epoch, EpochId{3});  // numbers are never reused: late replies to 2 must not count
  coordinator->OnMessage(2, schedule::PrepareReply{team.layout.id, EpochId{2}, true, {}, {{NodeIndex{0}, 1}}, {}});
  Advance(absl::Milliseconds(1999));
  EXPECT_FALSE(result.has_value());
  Advance(absl::Milliseconds(1));  // not prepare_timeout, since calls wait meanwhile
  EXPECT_THAT(*result, FailsWith(StatusCode::kAborted, Name(), "2s", "node n1", "n2"));
  sink.sent.clear();

  Replan();
  coordinator->OnDisconnected(2);
  EXPECT_THAT(*result, FailsWith(StatusCode::kAborted, Name(), "node n2"));
  EXPECT_THAT(Refusal(), FailsWith(StatusCode::kFailedPrecondition, Name(), "node n2"));
  sink.sent.clear();
  Register(2, "n2", 1, {Running(team, 1, 4)});
  EXPECT_EQ(sink.Take<schedule::Abort>(2).epoch, EpochId{4});
  EXPECT_TRUE(Silent());

  Replan();
  sink.sent.clear();
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  EXPECT_THAT(*result, FailsWith(StatusCode::kAborted, Name(), "node n1"));
  EXPECT_EQ(sink.Take<schedule::Abort>(2).epoch, EpochId{5});
  EXPECT_THAT(Refusal(), FailsWith(StatusCode::kFailedPrecondition, Name(), "node n1"));
  EXPECT_EQ(store.Load()->teams.at(team.layout.id).epoch, EpochId{1});
}

TEST_F(EpochSwitchTest, IsRefusedWhereItMakesNoSense) {
  coordinator->ReplanTeam(TeamId{99}, {}, [this](const absl::Status& status) { result = status; });
  EXPECT_THAT(*result, FailsWith(StatusCode::kNotFound, "team 99"));
  plan_maker.error = absl::InvalidArgumentError("no algorithm x");
  EXPECT_EQ(Refusal(), plan_maker.error);
  plan_maker.error = absl::OkStatus();
  Replan();
  EXPECT_THAT(Refusal(), FailsWith(StatusCode::kFailedPrecondition, Name()));
  coordinator->OnMessage(1, schedule::TeamBroken{team.layout.id, {Failure::kMemberLost, "y"}});
  EXPECT_THAT(Refusal(), FailsWith(StatusCode::kFailedPrecondition, Name(), "y"));
  sink.sent.clear();
  Join(1, 0, 1, 5, "forming");
  team = sink.Take<schedule::Prepare>(1);
  EXPECT_THAT(Refusal(), FailsWith(StatusCode::kFailedPrecondition, Name()));
}

TEST_F(EpochSwitchTest, WhatMayPassIsTriedAgainForAWhile) {
  const auto replan = [&] {
    result.reset();
    sink.sent.clear();
    coordinator->ReplanTeam(
        team.layout.id, {}, [this](const absl::Status& status) { result = status; }, absl::Seconds(5));
  };
  // A node is away, and comes back.
  coordinator->OnDisconnected(2);
  replan();
  EXPECT_FALSE(result.has_value());
  Advance(absl::Seconds(1));
  Register(2, "n2", 1, {Running(team, 1)});
  Advance(absl::Seconds(1));
  AcceptBoth(TakeBoth<schedule::Prepare>());
  for (const SessionId session : {1, 2}) {
    coordinator->OnMessage(session, schedule::CommitReply{team.layout.id, sink.Take<schedule::Commit>(session).epoch});
  }
  EXPECT_EQ(result, absl::OkStatus());

  // The node stays away.
  coordinator->OnDisconnected(2);
  replan();
  for (int i = 0; i < 4; ++i) Advance(absl::Seconds(1));
  EXPECT_FALSE(result.has_value());
  Advance(absl::Seconds(1));
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(*result, FailsWith(StatusCode::kFailedPrecondition, Name(), "node n2"));

  // The team ends during the switch.
  replan();
  EXPECT_TRUE(coordinator->BreakTeam(team.layout.id, "z").ok());
  Advance(absl::Seconds(1));
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(*result, FailsWith(StatusCode::kFailedPrecondition, Name(), "z"));
}

TEST_F(EpochSwitchTest, BreakingWhilePreparingAbortsFirst) {
  Replan();
  sink.sent.clear();
  EXPECT_TRUE(coordinator->BreakTeam(team.layout.id, "z").ok());
  for (const SessionId session : {1, 2}) {
    EXPECT_EQ(sink.Take<schedule::Abort>(session).epoch, EpochId{2});
    sink.Take<schedule::BreakTeam>(session);
  }
  EXPECT_THAT(*result, FailsWith(StatusCode::kAborted, Name(), "z"));
}

TEST_F(EpochSwitchTest, BreakingAfterTheDecisionIsDataLoss) {
  Replan();
  AcceptBoth(TakeBoth<schedule::Prepare>());
  coordinator->OnDisconnected(2);
  EXPECT_TRUE(coordinator->RemoveNode("n2").ok());
  EXPECT_THAT(*result, FailsWith(StatusCode::kDataLoss, "node n2"));
}

TEST_F(EpochSwitchTest, RestartAfterTheRecordCommits) {
  Replan();
  coordinator->OnMessage(1, Accept(sink.Take<schedule::Prepare>(1), 0, 7));
  coordinator->OnMessage(2, Accept(sink.Take<schedule::Prepare>(2), 1, 3));
  Restart();
  Register(1, "n1", 1, {Running(team, 2)});  // the daemon had its Commit
  Register(2, "n2", 1, {Running(team, 1, 2)});
  const auto commit = sink.Take<schedule::Commit>(2);
  EXPECT_EQ(commit.first_call, CallSeq{7 + 8 + 1});
  EXPECT_EQ(commit.outgoing[0].label, 201u);
  EXPECT_TRUE(sink.sent[1].empty());
}

TEST_F(EpochSwitchTest, RestartBeforeTheRecordAborts) {
  Replan();
  coordinator->OnMessage(1, Accept(sink.Take<schedule::Prepare>(1), 0, 7));
  Restart();
  Register(1, "n1", 1, {Running(team, 1, 2)});
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.failure, Failure::kMemberLost);
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(EpochSwitchTest, AbortedEpochNeverComesAgain) {
  Replan();
  Restart();
  RegisterTwo({Running(team, 1)});
  Replan();
  EXPECT_EQ(sink.Take<schedule::Prepare>(1).epoch, EpochId{3});
}

TEST_F(EpochSwitchTest, IsRefusedIfItCannotBeRecorded) {
  store.error = absl::ResourceExhaustedError("disk full");
  EXPECT_THAT(Refusal(), FailsWith(absl::StatusCode::kAborted, Name(), "disk full"));
  sink.sent.clear();  // aborts of an epoch that nobody prepared
  store.error = absl::OkStatus();
  Replan();
  EXPECT_EQ(TakeBoth<schedule::Prepare>().epoch, EpochId{3});
}

TEST_F(EpochSwitchTest, TheOldEpochGoesOnIfTheDecisionFindsNoRoom) {
  Replan();
  const auto p1 = sink.Take<schedule::Prepare>(1), p2 = sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(1, Accept(p1, 0));
  store.error = absl::ResourceExhaustedError("disk full");
  coordinator->OnMessage(2, Accept(p2, 1));
  EXPECT_EQ(TakeBoth<schedule::Abort>().epoch, EpochId{2});
  EXPECT_THAT(*result, FailsWith(absl::StatusCode::kAborted, Name(), "disk full"));
  EXPECT_EQ(coordinator->view().FindTeam(team.layout.id)->epoch, EpochId{1});
  store.error = absl::OkStatus();
  Replan();
  EXPECT_EQ(TakeBoth<schedule::Prepare>().epoch, EpochId{3});
}

TEST_F(EpochSwitchTest, ATeamThatBreaksWhileItsDecisionWaitsIsToldOnce) {
  Replan();
  const auto p1 = sink.Take<schedule::Prepare>(1), p2 = sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(1, Accept(p1, 0));
  store.error = absl::UnavailableError("no answer");
  coordinator->OnMessage(2, Accept(p2, 1));
  coordinator->OnMessage(2, schedule::TeamBroken{team.layout.id, {Failure::kMemberLost, "rank 1 died"}});
  EXPECT_TRUE(Silent());
  store.error = absl::ResourceExhaustedError("disk full");
  Advance(absl::Seconds(2));
  EXPECT_TRUE(Silent()) << "the first attempt may have stored it";
  store.error = absl::OkStatus();
  Advance(absl::Seconds(2));
  sink.Take<schedule::Commit>(1);
  EXPECT_THAT(sink.Take<schedule::BreakTeam>(1).why.text, Names("rank 1 died"));
  Restart();
  EXPECT_EQ(coordinator->view().FindTeam(team.layout.id)->state, "broken");
}

TEST_F(EpochSwitchTest, StoreAheadOrBehindBreaks) {
  coordinator->OnDisconnected(2);
  Register(2, "n2", 1, {Running(team, 2)});
  EXPECT_THAT(sink.Take<schedule::BreakTeam>(1).why.text, Names("node n2", Name(), "epoch=2", "recorded=1"));
}

TEST_F(EpochSwitchTest, EpochQueryIsAnsweredFromTheRecord) {
  Replan();
  const auto p1 = sink.Take<schedule::Prepare>(1), p2 = sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(1, schedule::EpochQuery{team.layout.id, EpochId{2}});
  EXPECT_TRUE(Silent());  // undecided: the answer is pending
  coordinator->OnMessage(1, Accept(p1, 0));
  coordinator->OnMessage(2, Accept(p2, 1));
  sink.sent.clear();
  coordinator->OnMessage(1, schedule::EpochQuery{team.layout.id, EpochId{2}});
  EXPECT_EQ(sink.Take<schedule::Commit>(1).epoch, EpochId{2});
  coordinator->OnMessage(1, schedule::EpochQuery{team.layout.id, EpochId{3}});
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.failure, Failure::kMemberLost);
  coordinator->OnMessage(1, schedule::EpochQuery{TeamId{99}, EpochId{1}});
  EXPECT_EQ(sink.Take<schedule::Abort>(1).team, TeamId{99});
  ASSERT_TRUE(coordinator->BreakTeam(team.layout.id, "").ok());
  sink.sent.clear();
  coordinator->OnMessage(1, schedule::EpochQuery{team.layout.id, EpochId{2}});
  sink.Take<schedule::Commit>(1);
  sink.Take<schedule::BreakTeam>(1);
}

}  // namespace
}  // namespace copse::coordinator
