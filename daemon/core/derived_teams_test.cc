// SPDX-License-Identifier: Apache-2.0
//
// Tests when a daemon requests derived teams, and how the calls that wait for them end.
#include "daemon/core/derived_teams.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "daemon/core/testing/team_fixture.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;

using schedule::Failure;
using schedule::FailureReport;

constexpr TeamId kDerived(8);

class DerivedTeamsTest : public TeamFixture {
 protected:
  DerivedTeamsTest() { FormTeam(); }

  static schedule::Prepare PrepareDerived(uint64_t failed = 0, Family family = Family::kRooted) {
    schedule::Prepare prepare{.layout = Layout(), .epoch = EpochId(1)};
    prepare.layout.id = kDerived;
    prepare.layout.parent = kTeam;
    prepare.layout.identity.family = family;
    prepare.layout.identity.nonce = failed;
    prepare.plans = PlansOf(family);
    return prepare;
  }
  // Returns why it is refused; empty if it is not.
  FailureReport AnswerTo(const schedule::Prepare& prepare) {
    core_.OnPlannerMessage(prepare);
    const auto reply = Take<schedule::PrepareReply>();
    EXPECT_EQ(reply.accepted, reply.why == FailureReport{});
    return reply.why;
  }
  void ExpectAccepted(const schedule::Prepare& prepare) { EXPECT_EQ(AnswerTo(prepare), FailureReport{}); }
  void FormDerived(Family family = Family::kRooted) {
    ExpectAccepted(PrepareDerived(0, family));
    CommitDerived();
  }
  void CommitDerived() {
    core_.OnPlannerMessage(schedule::Commit{.team = kDerived, .epoch = EpochId(1), .outgoing = {{NodeIndex(1), 9001}}});
    Take<schedule::CommitReply>();
  }
  uint64_t Post(uint32_t rank, Collective collective = Collective::kGather) {
    return TeamFixture::Post(rank, collective);
  }
  void Fail(uint64_t request, const FailureReport& why) {
    core_.OnPlannerMessage(schedule::Abort{.epoch = EpochId(1), .why = why, .requests = {request}});
  }
};

const FailureReport kNoRoom{Failure::kNoResource, "no room"};

TEST_F(DerivedTeamsTest, TheFirstCallAsksForAllRanksHere) {
  const uint64_t first = Post(1);
  const auto join = Take<schedule::JoinTeam>();
  EXPECT_EQ(join.parent, kTeam);
  EXPECT_EQ(join.identity, (schedule::TeamIdentity{.uid = 1, .name = "t", .family = Family::kRooted}));
  EXPECT_EQ(join.rank, Rank(1));
  EXPECT_EQ(join.size, 3u);
  Post(0);
  Post(0, Collective::kScatter);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(EndOf(1, first), kWaits);
  EXPECT_FALSE(core_.Idle());
  // Each collective class has a derived team of its own; the common class needs none.
  Post(0, Collective::kAlltoall);
  EXPECT_EQ(Take<schedule::JoinTeam>().identity.family, Family::kAlltoall);
  Post(0, Collective::kAllreduce);
  EXPECT_TRUE(sent_.empty());
}

// Each Prepare has the addresses of the neighbors in its own plans.
TEST_F(DerivedTeamsTest, AddressesMayDiffer) {
  schedule::Prepare prepare = PrepareDerived();
  prepare.layout.nodes[1].worker_address = "another";
  ExpectAccepted(prepare);
  prepare = PrepareDerived(0, Family::kSpread);
  prepare.layout.id = TeamId(9);
  prepare.layout.nodes[0].worker_address = "";
  ExpectAccepted(prepare);
  prepare = PrepareDerived(0, Family::kAlltoall);
  prepare.layout.id = TeamId(10);
  prepare.layout.nodes[1].name = "another";
  EXPECT_EQ(AnswerTo(prepare).failure, Failure::kInvalidArgument);
}

TEST_F(DerivedTeamsTest, FailureEndsOneCallOfEachRank) {
  const uint64_t a0 = Post(0), b0 = Post(0);
  Fail(Take<schedule::JoinTeam>().request, kNoRoom);
  EXPECT_EQ(EndOf(0, a0), kNoRoom);
  EXPECT_EQ(EndOf(0, b0), kWaits);
  const auto again = Take<schedule::JoinTeam>();
  EXPECT_EQ(again.identity.nonce, 1u);
  // Rank 1 comes to the first call, which has failed, and then to the one that is being tried.
  const uint64_t a1 = Post(1), b1 = Post(1);
  EXPECT_EQ(EndOf(1, a1), kNoRoom);
  EXPECT_EQ(EndOf(1, b1), kWaits);
  Fail(again.request, {Failure::kNoMemory, "none left"});
  EXPECT_EQ(EndOf(0, b0).failure, Failure::kNoMemory);
  EXPECT_EQ(EndOf(1, b1).failure, Failure::kNoMemory);
  EXPECT_TRUE(sent_.empty());
  EXPECT_TRUE(core_.Idle());
  Fail(again.request, kNoRoom);  // said again: of no call
  EXPECT_EQ(EndOf(1, Post(1)), kWaits);
  EXPECT_EQ(Take<schedule::JoinTeam>().identity.nonce, 2u);
}

TEST_F(DerivedTeamsTest, PreparedWhereNobodyCallsYet) {
  ExpectAccepted(PrepareDerived());
  EXPECT_EQ(EndOf(0, Post(0)), kWaits);
  EXPECT_TRUE(sent_.empty());  // it is on its way
  CommitDerived();
  EXPECT_EQ(core_.Status().teams, 1u);
  EXPECT_EQ(core_.Status().ranks, 2u);
}

TEST_F(DerivedTeamsTest, AttemptThatHasFailedHereIsRefused) {
  Post(0);
  Fail(Take<schedule::JoinTeam>().request, kNoRoom);
  EXPECT_EQ(AnswerTo(PrepareDerived(0)), (FailureReport{Failure::kNoResource, "node n0: no room"}));
  ExpectAccepted(PrepareDerived(1));
}

TEST_F(DerivedTeamsTest, AttemptsThatFailedElsewhereFailHere) {
  const uint64_t first = Post(0), second = Post(0), third = Post(0);
  Take<schedule::JoinTeam>();
  ExpectAccepted(PrepareDerived(2));
  EXPECT_EQ(EndOf(0, first).failure, Failure::kCanceled);  // by a planner that has forgotten why
  EXPECT_EQ(EndOf(0, second).failure, Failure::kCanceled);
  EXPECT_EQ(EndOf(0, third), kWaits);
  EXPECT_EQ(EndOf(1, Post(1)).failure, Failure::kCanceled);
}

TEST_F(DerivedTeamsTest, AttemptsThatFailedElsewhereFailHereForTheSameReason) {
  const FailureReport drains{Failure::kNoResource, "node n1 is draining", FailureCause::kNodeDraining, "n1"};
  const uint64_t first = Post(0);
  EXPECT_EQ(Take<schedule::JoinTeam>().last_failure, FailureReport{});
  auto prepare = PrepareDerived(1);
  prepare.last_failure = drains;
  ExpectAccepted(prepare);
  EXPECT_EQ(EndOf(0, first), drains);
  EXPECT_EQ(EndOf(1, Post(1)), drains);
  // A planner without its store learns it from who asks next.
  core_.OnPlannerMessage(schedule::Abort{.team = kDerived, .epoch = EpochId(1)});
  Post(0);
  const auto join = Take<schedule::JoinTeam>();
  EXPECT_EQ(join.identity.nonce, 1u);
  EXPECT_EQ(join.last_failure, drains);
}

TEST_F(DerivedTeamsTest, ASwitchOfOneThatIsGoneFailsNoAttempt) {
  const uint64_t call = Post(0);
  Take<schedule::JoinTeam>();
  auto prepare = PrepareDerived();
  prepare.epoch = EpochId(2);
  EXPECT_NE(AnswerTo(prepare), FailureReport{});
  EXPECT_EQ(EndOf(0, call), kWaits);
}

TEST_F(DerivedTeamsTest, WhatIsRefusedHereHasFailed) {
  const uint64_t call = Post(0);
  Take<schedule::JoinTeam>();
  auto prepare = PrepareDerived();
  prepare.plans.pop_back();
  const FailureReport why = AnswerTo(prepare);
  EXPECT_NE(why, FailureReport{});
  EXPECT_EQ(EndOf(0, call), why);
}

TEST_F(DerivedTeamsTest, OthersLayoutsAreRefused) {
  auto prepare = PrepareDerived();
  prepare.layout.parent = TeamId(99);
  EXPECT_THAT(AnswerTo(prepare).text, Names("node n0: team 99"));
  prepare = PrepareDerived();
  prepare.layout.shape.node_of_rank[1] = NodeIndex(1);
  EXPECT_THAT(AnswerTo(prepare).text, Names("node n0: ", "team 7: ", "'t' (rooted)", "user 1"));
  ExpectAccepted(PrepareDerived());
  prepare = PrepareDerived();
  prepare.layout.id = TeamId(9);
  EXPECT_THAT(AnswerTo(prepare).text, Names("node n0: team 7", "team=8"));
  CommitDerived();
}

TEST_F(DerivedTeamsTest, TheLayoutOfATeamStays) {
  ExpectAccepted(PrepareDerived());
  const FailureReport why = AnswerTo(PrepareDerived(0, Family::kAlltoall));
  EXPECT_EQ(why.failure, Failure::kInvalidArgument);
  EXPECT_THAT(why.text, Names("node n0: ", "team=8"));
  CommitDerived();
  schedule::Prepare next = PrepareDerived();
  next.epoch = EpochId(2);
  next.layout.window *= 2;
  EXPECT_EQ(AnswerTo(next).failure, Failure::kInvalidArgument);
}

TEST_F(DerivedTeamsTest, ATeamThatIsPreparedBecomesNoDerivedTeam) {
  schedule::Prepare common{.layout = Layout(), .epoch = EpochId(1), .plans = PlansOf(Family::kCommon)};
  common.layout.id = kDerived;
  ExpectAccepted(common);
  EXPECT_EQ(AnswerTo(PrepareDerived()).failure, Failure::kInvalidArgument);
}

TEST_F(DerivedTeamsTest, AbortWithoutRequestsAsksAgain) {
  const uint64_t call = Post(0);
  Take<schedule::JoinTeam>();
  ExpectAccepted(PrepareDerived());
  core_.OnPlannerMessage(schedule::Abort{.team = kDerived, .epoch = EpochId(1), .why = kNoRoom});
  EXPECT_EQ(EndOf(0, call), kWaits);
  EXPECT_EQ(Take<schedule::JoinTeam>().identity.nonce, 0u);
}

TEST_F(DerivedTeamsTest, ANewPlannerIsAskedAgain) {
  Post(0);
  const auto join = Take<schedule::JoinTeam>();
  PlannerRestarts();
  EXPECT_EQ(Take<schedule::Register>().teams.size(), 1u);
  Registered();
  EXPECT_EQ(Take<schedule::JoinTeam>().identity, join.identity);
  // Not while it is prepared: the planner decides that first.
  ExpectAccepted(PrepareDerived());
  PlannerRestarts();
  EXPECT_EQ(Take<schedule::Register>().teams.size(), 2u);
  Registered();
  EXPECT_TRUE(sent_.empty());
}

TEST_F(DerivedTeamsTest, APlannerThatIsAwayIsWaitedFor) {
  core_.OnPlannerDown();
  const uint64_t first = Post(0);
  for (int minute = 0; minute < 10; ++minute) {
    clock_.Advance(absl::Minutes(1));
    core_.Progress();
  }
  EXPECT_EQ(EndOf(0, first), kWaits);
  core_.OnPlannerUp();
  Registered();
  EXPECT_EQ(Take<schedule::Register>().teams.size(), 1u);
  EXPECT_EQ(Take<schedule::JoinTeam>().identity.nonce, 0u);
}

TEST_F(DerivedTeamsTest, AnOldPlannerFormsNone) {
  // A planner of a later version may have features of any number.
  const auto unknown = static_cast<schedule::Feature>(64 + static_cast<uint32_t>(schedule::Feature::kDerivedTeams));
  for (const schedule::Features& features : {schedule::Features{}, schedule::Features{unknown}}) {
    Registered(features);
    sent_.clear();
    const FailureReport report = EndOf(0, Post(0));
    EXPECT_EQ(report, (FailureReport{Failure::kVersion, report.text}));
    EXPECT_THAT(report.text, Names("family rooted"));
    EXPECT_TRUE(sent_.empty());
  }
}

TEST_F(DerivedTeamsTest, WaitingCallsAreBounded) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(EndOf(0, Post(0)), kWaits);
  const FailureReport report = EndOf(0, Post(0));
  EXPECT_EQ(report, (FailureReport{Failure::kNoResource, report.text, FailureCause::kQuota, "", Rank(0), 3}));
  EXPECT_THAT(report.text, Names("team 't'", "user 1: ", "rank 0", "calls=4", "limit=3"));
}

TEST_F(DerivedTeamsTest, WaitingCallsAreInTheStatus) {
  Post(0);
  clock_.Advance(absl::Seconds(2));
  Post(1);
  Post(1, Collective::kScatter);
  Post(1, Collective::kAllgather);
  const schedule::DaemonStatus status = core_.Status();
  ASSERT_EQ(status.calls.size(), 3u);
  EXPECT_EQ(status.calls[0].team, kTeam);
  EXPECT_EQ(status.calls[0].waits_for, Family::kRooted);
  EXPECT_EQ(status.calls[0].arguments.collective, Collective::kGather);
  EXPECT_EQ(status.calls[0].joined, (std::vector<Rank>{Rank(0), Rank(1)}));
  EXPECT_EQ(status.calls[0].age_s, 2);
  EXPECT_EQ(status.calls[1].sequence, CallSeq(1));
  EXPECT_EQ(status.calls[1].joined, std::vector<Rank>{Rank(1)});
  EXPECT_EQ(status.calls[2].waits_for, Family::kSpread);
  EXPECT_EQ(status.counters.at("calls.in_flight"), 3u);
  EXPECT_EQ(status.counters.count("engine.sequences.posted"), 1u);
  EXPECT_EQ(status.counters.at("calls.in_flight"), 3u);

  sent_.clear();
  FormDerived();
  for (const schedule::CallStatus& call : core_.Status().calls) EXPECT_NE(call.waits_for, Family::kRooted);
}

TEST_F(DerivedTeamsTest, BreaksWithItsTeam) {
  FormDerived(Family::kSpread);
  const uint64_t waiting = Post(0);
  sent_.clear();
  core_.OnPlannerMessage(schedule::BreakTeam{kDerived, {Failure::kMemberLost, "rank 2 lost"}});
  EXPECT_EQ(EndOf(0, waiting).text, "rank 2 lost");
  EXPECT_EQ(EndOf(1, Post(1)).text, "rank 2 lost");
  EXPECT_EQ(EndOf(1, Post(1, Collective::kBarrier)).text, "rank 2 lost");
  EXPECT_EQ(Take<schedule::TeamBroken>().team, kDerived);
  EXPECT_EQ(Take<schedule::TeamBroken>().team, kTeam);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(DerivedTeamsTest, APacketOfACallWithOtherArgumentsIsAnsweredWithOurs) {
  core_.OnPlannerMessage(PrepareDerived());
  const auto reply = Take<schedule::PrepareReply>();
  ASSERT_EQ(reply.incoming.size(), 1u);
  incoming_label_ = reply.incoming[0].label;
  CommitDerived();
  for (const uint32_t rank : {0, 1}) Post(rank, Collective::kScatter);
  TakeFromWire<ArgumentsMessage>();
  ReceivePacket(0, /*hash=*/1, 0, {});
  const std::vector<ArgumentsMessage> ours = TakeFromWire<ArgumentsMessage>();
  ASSERT_EQ(ours.size(), 1u);
  EXPECT_EQ(ours[0].team, kDerived);
  EXPECT_EQ(ours[0].sequence, CallSeq(0));
  EXPECT_EQ(ours[0].given.arguments.collective, Collective::kScatter);
}

TEST_F(DerivedTeamsTest, LeavesWithItsTeam) {
  FormDerived();
  LeaveAll();
  EXPECT_EQ(processes_[1].destroyed.failure, Failure::kNone);
  EXPECT_EQ(Take<schedule::LeaveTeam>().team, kTeam);
  EXPECT_TRUE(sent_.empty());
  PlannerRestarts();
  EXPECT_TRUE(Take<schedule::Register>().teams.empty());
}

// A replaced planner calls off what it does not know.
TEST_F(DerivedTeamsTest, AnAbortOfACommittedOneThatBrokeChangesNothing) {
  FormDerived();
  core_.OnPlannerMessage(schedule::BreakTeam{kTeam, {Failure::kMemberLost, "rank 2 lost"}});
  core_.OnPlannerMessage(schedule::Abort{.team = kDerived, .epoch = EpochId(1), .why = kNoRoom});
  EXPECT_EQ(EndOf(0, Post(0)).text, "rank 2 lost");
}

// The planner calls off the formation of a derived team that broke with its parent.
TEST_F(DerivedTeamsTest, AnAttemptThatBrokeLeavesWithItsTeam) {
  Post(0);
  const uint64_t request = Take<schedule::JoinTeam>().request;
  core_.OnPlannerMessage(PrepareDerived());
  core_.OnPlannerMessage(schedule::BreakTeam{kTeam, {Failure::kMemberLost, "rank 2 lost"}});
  core_.OnPlannerMessage(schedule::Abort{.team = kDerived, .epoch = EpochId(1), .why = kNoRoom, .requests = {request}});
  LeaveAll();
  core_.CheckInvariants();
  core_.OnPlannerDown();
  sent_.clear();
  core_.OnPlannerUp();
  EXPECT_TRUE(std::ranges::none_of(Take<schedule::Register>().teams,
                                   [](const schedule::RunningTeam& team) { return team.layout->id == kDerived; }));
}

TEST_F(DerivedTeamsTest, NoLeaveWhileACallWaits) {
  Post(0);
  Leave(0);
  EXPECT_EQ(processes_[0].destroyed.failure, Failure::kInvalidArgument);
  EXPECT_THAT(processes_[0].destroyed.text, Names("destroy: ", "team 't'", "rank 0"));
  Leave(1);
  EXPECT_EQ(processes_[1].destroyed.failure, Failure::kNone);
}

TEST_F(DerivedTeamsTest, DeathWhileACallWaitsBreaksTheTeam) {
  Post(0);
  Take<schedule::JoinTeam>();
  core_.Detach(processes_[0].id, /*died=*/false, "process 1 ended");
  EXPECT_THAT(Take<schedule::TeamBroken>().why.text, Names("rank 0 on node n0", "process 1 ended"));
}

TEST_F(DerivedTeamsTest, RanksOfANodeInDifferentFamiliesAreNamed) {
  Post(0, Collective::kBarrier);
  Post(1, Collective::kBarrier);
  const uint64_t first = Post(0, Collective::kGather), second = Post(1, Collective::kAlltoall);
  EXPECT_EQ(EndOf(0, first).failure, Failure::kMismatch);
  EXPECT_THAT(EndOf(0, first).text, Names("call 1: ", "rank 0 on node n0", "gather uint8 count 8 root 2",
                                          "rank 1 on node n0", "alltoall uint8 count 8"));
  EXPECT_EQ(EndOf(1, second), EndOf(0, first));
}

TEST_F(DerivedTeamsTest, DrainingDaemonsServeTheirTeams) {
  core_.StartDrain("it stops");
  ExpectAccepted(PrepareDerived());
}

TEST_F(DerivedTeamsTest, WhoMayNotJoinADrainingDaemonIsCalledOffForAll) {
  core_.StartDrain("it stops");
  core_.CreateTeam(processes_[1].id, {.request = 2, .name = "late", .rank = Rank(1), .size = 3});
  const FailureReport refused = processes_[1].refused;
  EXPECT_EQ(refused, (FailureReport{Failure::kNoDaemon, refused.text, FailureCause::kNodeDraining, "n0"}));
  EXPECT_THAT(refused.text, Names("team 'late'", "user 1: ", "node n0", "it stops"));
  const auto join = Take<schedule::JoinTeam>();
  EXPECT_EQ(join.rank, Rank(1));
  const auto canceled = Take<schedule::CancelJoin>();
  EXPECT_EQ(canceled.request, join.request);
  EXPECT_EQ(canceled.why, (FailureReport{Failure::kNoResource, canceled.why.text, FailureCause::kNodeDraining, "n0"}));
  EXPECT_THAT(canceled.why.text, Names("node n0", "it stops"));
  // The planner's answer to the join that is over.
  processes_[1].refused = {};
  Fail(join.request, kNoRoom);
  EXPECT_EQ(processes_[1].refused, FailureReport{});
}

}  // namespace
}  // namespace copse::daemon
