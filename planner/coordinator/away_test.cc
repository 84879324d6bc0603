// SPDX-License-Identifier: Apache-2.0
//
// A planner without a stream to a node learns nothing of its death; the tests cover the evidence that it does accept.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;

TEST_F(TeamTest, NodesMayBeAwayForAsLongAsTheyLike) {
  coordinator->OnDisconnected(1);
  coordinator->OnDisconnected(2);
  EXPECT_EQ(coordinator->view().FindNode("n2")->state, "away");
  for (int minute = 0; minute < 59; ++minute) Advance(absl::Minutes(1));
  EXPECT_TRUE(Silent());
  EXPECT_NEAR(coordinator->view().FindNode("n2")->last_seen_s, 59 * 60, 1e-6);
  for (SessionId session = 3; session <= 4; ++session) {
    EXPECT_TRUE(Register(session, absl::StrCat("n", session - 2), 1, {Running(team, 1)}).forgotten.empty());
  }
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_EQ(coordinator->view().FindNode("n2")->state, "ready");
}

TEST_F(TeamTest, OneThatStaysAwayAfterARestartKeepsItsTeams) {
  Restart();
  Register(1, "n1", 1, {Running(team, 1)});
  for (int minute = 0; minute < 180; ++minute) Advance(absl::Minutes(1));
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(TeamTest, RecordsOfTeamsWhoseNodesAreAllAwayAreDroppedAndTakenUpAgain) {
  coordinator->OnDisconnected(1);
  Advance(absl::Minutes(30));
  coordinator->OnDisconnected(2);
  Advance(absl::Minutes(30));
  EXPECT_EQ(State(team.layout.id), "ready");
  for (int minute = 0; minute < 90; ++minute) Advance(absl::Minutes(1));
  EXPECT_FALSE(coordinator->view().FindTeam(team.layout.id).ok());
  EXPECT_TRUE(store.Load()->teams.empty());
  EXPECT_TRUE(Register(3, "n1", 1, {Running(team, 1)}).forgotten.empty());
  EXPECT_TRUE(Register(4, "n2", 1, {Running(team, 1)}).forgotten.empty());
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_TRUE(Silent());
}

TEST_F(TwoNodesTest, NodesThatNeverComeBackAreForgotten) {
  coordinator->OnDisconnected(2);
  for (int hour = 0; hour < 29 * 24; ++hour) Advance(absl::Hours(1));
  EXPECT_TRUE(coordinator->view().FindNode("n2").ok());
  for (int hour = 0; hour < 25; ++hour) Advance(absl::Hours(1));
  EXPECT_FALSE(coordinator->view().FindNode("n2").ok());
}

TEST_F(TeamTest, ARemovedNodeBreaksItsTeamsAndIsFenced) {
  EXPECT_EQ(coordinator->RemoveNode("n3").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(coordinator->RemoveNode("n2").code(), absl::StatusCode::kFailedPrecondition);
  coordinator->OnDisconnected(2);
  ASSERT_TRUE(coordinator->RemoveNode("n2").ok());
  const auto broken = sink.Take<schedule::BreakTeam>(1);
  EXPECT_EQ(broken.why.failure, Failure::kMemberLost);
  EXPECT_EQ(broken.why.cause, FailureCause::kNodeRemoved);
  EXPECT_EQ(broken.why.node, "n2");
  EXPECT_FALSE(coordinator->view().FindNode("n2").ok());
  EXPECT_EQ(Register(3, "n2", 1, {Running(team, 1)}).forgotten, (std::vector<TeamId>{team.layout.id}));
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  EXPECT_TRUE(store.Load()->teams.empty());
}

TEST_F(TeamTest, ADaemonThatStopsUnregisters) {
  coordinator->OnMessage(2, schedule::Stopping{});
  EXPECT_EQ(coordinator->view().FindNode("n2")->state, "draining");
  Join(2, 0, 1, ++request, "late");
  EXPECT_EQ(sink.Take<schedule::Abort>(2).why.cause, FailureCause::kNodeDraining);
  coordinator->OnMessage(2, schedule::LeaveTeam{team.layout.id});
  coordinator->OnMessage(2, schedule::Stopping{.done = true});
  EXPECT_FALSE(coordinator->view().FindNode("n2").ok());
  EXPECT_EQ(State(team.layout.id), "ready") << "it had left";
  coordinator->OnDisconnected(2);
  EXPECT_TRUE(Register(3, "n2", 2).accepted);
}

TEST_F(TeamTest, WhatOthersSayIsGoneIsLost) {
  const schedule::FailureReport why{Failure::kMemberLost, "reset", FailureCause::kConnectionLost, "n2"};
  coordinator->OnMessage(1, schedule::TeamBroken{team.layout.id, why});
  EXPECT_EQ(coordinator->view().FindNode("n2")->state, "ready");
  coordinator->OnDisconnected(2);
  EXPECT_EQ(coordinator->view().FindNode("n2")->state, "lost");
  Register(3, "n2", 1, {Running(team, 1)});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(3).why.cause, FailureCause::kConnectionLost);
  EXPECT_EQ(coordinator->view().FindNode("n2")->state, "ready");
}

// --- Equal names ---

TEST_F(TeamTest, ANewcomerWaitsWhileANeighborHearsTheOneThatHasTheName) {
  auto refused = RegisterFrom(3, "n2", 7, "other");
  EXPECT_FALSE(refused.accepted) << "connected";
  EXPECT_NE(refused.why.text.find("10.0.0.3:1"), std::string::npos) << refused.why.text;
  coordinator->OnDisconnected(2);
  refused = RegisterFrom(4, "n2", 7, "other");
  EXPECT_FALSE(refused.accepted) << "away";
  EXPECT_EQ(refused.why.failure, Failure::kPermission);
  EXPECT_TRUE(Silent());
  EXPECT_TRUE(Register(5, "n2", 1, {Running(team, 1)}).forgotten.empty());
  EXPECT_EQ(State(team.layout.id), "ready");

  coordinator->OnDisconnected(5);
  coordinator->OnMessage(
      1, schedule::TeamBroken{team.layout.id, {Failure::kMemberLost, "silent", FailureCause::kNodeSilent, "n2"}});
  EXPECT_TRUE(RegisterFrom(6, "n2", 7, "other").accepted) << "nobody hears the older one";
}

TEST_F(TeamTest, AMemberWithoutItsCommitHearsNobody) {
  LoseStore();
  Register(1, "n1", 1, {Running(team, 0, 1)});
  Register(2, "n2", 1, {Running(team, 1)});
  coordinator->OnDisconnected(2);
  EXPECT_TRUE(RegisterFrom(4, "n2", 7, "other").accepted);
}

TEST_F(TeamTest, WhoTakesANameThatNobodyHearsBreaksNothing) {
  coordinator->OnDisconnected(1);
  coordinator->OnDisconnected(2);
  EXPECT_TRUE(RegisterFrom(3, "n2", 7, "other").accepted);
  EXPECT_EQ(State(team.layout.id), "ready");
  Register(4, "n1", 1, {Running(team, 1)});
  EXPECT_FALSE(Register(5, "n2", 1, {Running(team, 1)}).accepted);
  coordinator->OnDisconnected(3);
  EXPECT_TRUE(Register(6, "n2", 1, {Running(team, 1)}).forgotten.empty());
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_TRUE(Silent());
}

TEST_F(CoordinatorTest, TeamsThatWereLeftWhileAnotherHadTheNameEnd) {
  Register(2, "n2");
  Join(2, 0, 1, ++request);
  const auto team = sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(2, Accept(team, 0));
  coordinator->OnDisconnected(2);
  EXPECT_TRUE(RegisterFrom(3, "n2", 7, "other").accepted);
  EXPECT_FALSE(Register(4, "n2", 1, {Running(team, 1)}).accepted);
  coordinator->OnDisconnected(3);
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_TRUE(Register(5, "n2", 1).accepted);
  EXPECT_FALSE(coordinator->view().FindTeam(team.layout.id).ok());
  EXPECT_TRUE(store.Load()->teams.empty());
}

TEST_F(TwoNodesTest, TwoDaemonsOfOneNameInTheStoreBreakNothing) {
  const auto first = FormTeam("a");
  coordinator->OnDisconnected(1);
  coordinator->OnDisconnected(2);
  EXPECT_TRUE(RegisterFrom(3, "n2", 7, "other").accepted);
  Join(3, 0, 1, ++request, "b");
  const auto second = sink.Take<schedule::Prepare>(3);
  coordinator->OnMessage(3, Accept(second, 0));
  Restart();
  EXPECT_EQ(State(first.layout.id), "ready");
  EXPECT_EQ(State(second.layout.id), "ready");
}

// --- Lost stores ---

TEST_F(CoordinatorTest, IdsOfALostStoreDoNotComeAgain) {
  Register(1, "n1");
  const auto old_term = Register(2, "n2").term;
  const auto team = FormTeam();
  LoseStore();
  // A node that does not know the older planner requests a team before the older team's daemons are back.
  Register(3, "n3");
  EXPECT_EQ(RegisterFrom(1, "n1", 1, "machine of n1", {}, old_term).term, old_term + kLostTerms);
  Join(3, 0, 1, ++request, "new");
  EXPECT_TRUE(Silent()) << "others may know of higher terms";
  EXPECT_TRUE(RegisterFrom(2, "n2", 1, "machine of n2", {Running(team, 1)}, old_term + 4).forgotten.empty());
  EXPECT_EQ(State(team.layout.id), "ready");
  Advance(absl::Seconds(6));
  const auto prepare = sink.Take<schedule::Prepare>(3);
  EXPECT_EQ(prepare.layout.id.value() / 1'000'000, old_term + kLostTerms);
  EXPECT_LT(prepare.layout.id.value(), uint64_t{1} << 53);
}

TEST_F(CoordinatorTest, EveryStartHasATermOfItsOwn) {
  const auto first = Register(1, "n1").term;
  Restart();
  const auto second = RegisterFrom(1, "n1", 1, "machine of n1", {}, first);
  EXPECT_EQ(second.term, first + 1);
  Join(1, 0, 1, ++request);
  EXPECT_EQ(sink.Take<schedule::Prepare>(1).layout.id.value() / 1'000'000, first + 1) << "without a pause";
}

TEST_F(CoordinatorTest, TermsBeyondReasonAreNotBelieved) {
  const auto registered = RegisterFrom(1, "n1", 1, "m", {}, ~uint64_t{0} - 1);
  EXPECT_LT(registered.term, 10u);
}

TEST_F(TeamTest, AnEpochThatALostStoreDecidedIsNotAborted) {
  const uint64_t term = 1;
  LoseStore();
  // n2 has prepared epoch 2 without learning its outcome; n1 may know it.
  RegisterFrom(2, "n2", 1, "machine of n2", {Running(team, 1, 2)}, term);
  coordinator->OnMessage(2, schedule::EpochQuery{team.layout.id, EpochId{2}});
  EXPECT_TRUE(Silent());
  RegisterFrom(1, "n1", 1, "machine of n1", {Running(team, 2)}, term);
  EXPECT_TRUE(Silent()) << "its neighbor tells it";
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_EQ(coordinator->view().FindTeam(team.layout.id)->epoch, EpochId{2});
}

// A neighbor that runs it had reported it to another planner, and leaves it before it reports it to this one.
TEST_F(TeamTest, ATeamThatANeighborCommitsAfterTheReturnIsAdopted) {
  LoseStore();
  RegisterFrom(2, "n2", 1, "machine of n2", {Running(team, 0, 1)}, 1);
  coordinator->OnMessage(2, schedule::CommitReply{team.layout.id, EpochId{1}});
  RegisterFrom(1, "n1", 1, "machine of n1", {}, 1);
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(team.layout.id), "ready");
  coordinator->OnMessage(2, schedule::LeaveTeam{team.layout.id});
  EXPECT_EQ(sink.Take<schedule::EndTeam>(2).team, team.layout.id);
  EXPECT_FALSE(coordinator->view().FindTeam(team.layout.id).ok());
}

TEST_F(TeamTest, AnEpochThatNobodyHasIsAbortedOnceAllAreBack) {
  LoseStore();
  RegisterFrom(2, "n2", 1, "machine of n2", {Running(team, 1, 2)}, 1);
  EXPECT_TRUE(Silent());
  RegisterFrom(1, "n1", 1, "machine of n1", {Running(team, 1)}, 1);
  EXPECT_EQ(sink.Take<schedule::Abort>(2).epoch, EpochId{2});
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(TeamTest, PlansThatADaemonBringsBackAreVerified) {
  const size_t plans = coordinator->view().Plans().size();
  ASSERT_GT(plans, 0u);
  LoseStore();
  Register(1, "n1", 1, {Running(team, 1)});
  EXPECT_TRUE(coordinator->view().Plans().empty()) << "not yet";
  for (int i = 0; i < 20; ++i) Advance(absl::Milliseconds(1));
  ASSERT_EQ(coordinator->view().Plans().size(), plans);
  EXPECT_TRUE(coordinator->view().FindPlan(coordinator->view().Plans()[0].plan.id).ok());

  LoseStore();
  auto cyclic = Running(team, 1);
  schedule::Plan plan = schedule::DecodePlan(cyclic.plans->at(0)).value();
  plan.neighbors = {{1, 1}, {0, 0}};
  std::vector<std::string> encoded = *cyclic.plans;
  encoded[0] = schedule::EncodePlan(plan);
  cyclic.plans = std::move(encoded);
  Register(1, "n1", 1, {cyclic});
  for (int i = 0; i < 20; ++i) Advance(absl::Milliseconds(1));
  EXPECT_TRUE(coordinator->view().Plans().empty());
  EXPECT_EQ(State(team.layout.id), "ready") << "its daemons have verified theirs";

  // The teams were recorded: a planner that is restarted before it has verified them no longer trusts them.
  LoseStore();
  Register(1, "n1", 1, {cyclic});
  Restart();
  EXPECT_TRUE(coordinator->view().Plans().empty());
  Advance(absl::Milliseconds(20));
  EXPECT_TRUE(coordinator->view().Plans().empty());
}

// --- Stalls and blips ---

TEST_F(TwoNodesTest, AStreamThatEndsWhileATeamFormsDelaysIt) {
  const auto p1 = StartTeam();
  coordinator->OnDisconnected(2);
  const auto abort = sink.Take<schedule::Abort>(1);
  EXPECT_EQ(abort.team, p1.layout.id);
  EXPECT_TRUE(abort.again) << "no rank is told of a failure";
  EXPECT_EQ(abort.requests, (std::vector<uint64_t>{11}));
  Join(1, 0, 2, 11);  // a daemon that has such an Abort joins again
  EXPECT_TRUE(Register(3, "n2", 1, {Running(p1, 0, 1)}).forgotten.empty());
  EXPECT_TRUE(sink.Take<schedule::Abort>(3).requests.empty());
  Join(3, 1, 2, 21);
  EXPECT_EQ(sink.Take<schedule::Prepare>(1).requests.size(), 1u);
  EXPECT_EQ(sink.Take<schedule::Prepare>(3).requests.size(), 1u);
}

TEST_F(TwoNodesTest, APlannerThatStoodStillHearsWhatCameMeanwhile) {
  const auto p1 = StartTeam();
  Stall(options.prepare_timeout + absl::Seconds(50));
  EXPECT_TRUE(Silent());
  AcceptBoth(p1);
  TakeBoth<schedule::Commit>();
  Join(1, 0, 2, 12, "late");
  Advance(options.team_formation_timeout + absl::Milliseconds(1));
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.cause, FailureCause::kNotFormedInTime);
}

// --- Draining ---

TEST_F(CoordinatorTest, AnUndrainReachesANodeThatWasAway) {
  Register(1, "n1");
  ASSERT_TRUE(SetDraining("n1", true).ok());
  sink.Take<schedule::Drain>(1);
  coordinator->OnDisconnected(1);
  ASSERT_TRUE(SetDraining("n1", false).ok());
  EXPECT_FALSE(Register(2, "n1").draining);
  ASSERT_TRUE(SetDraining("n1", true).ok());
  Restart();
  EXPECT_TRUE(SetDraining("n1", false).ok()) << "known from the store";
  EXPECT_FALSE(Register(1, "n1").draining);
}

// The first of two changes fails while the second one waits.
TEST_F(CoordinatorTest, ADrainThatIsNotStoredLeavesALaterOneAlone) {
  Register(1, "n1");
  ASSERT_TRUE(SetDraining("n1", true).ok());
  coordinator->OnDisconnected(1);
  Restart();
  store.later = true;
  std::vector<absl::Status> ends;
  const auto note = [&ends](const absl::Status& status) { ends.push_back(status); };
  coordinator->SetDraining("n1", std::nullopt, note);
  coordinator->SetDraining("n1", std::nullopt, note);  // the node has not come back
  store.Finish(absl::ResourceExhaustedError("full"));
  Advance(absl::Seconds(2));  // the planner tries again
  store.Finish(absl::OkStatus());
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_FALSE(ends[0].ok());
  EXPECT_TRUE(ends[1].ok());
  EXPECT_TRUE(store.Load()->draining.empty());
  Register(2, "n1");
  EXPECT_EQ(coordinator->view().FindNode("n1")->state, "ready");
}

}  // namespace
}  // namespace copse::coordinator
