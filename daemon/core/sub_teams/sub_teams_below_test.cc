// SPDX-License-Identifier: Apache-2.0
//
// Tests how one daemon, below the root of its parent's tree, takes part in the formation of sub-teams.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "base/testing/status_matchers.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/testing/sub_team_fixture.h"
#include "gtest/gtest.h"
#include "protocol/control.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;
using schedule::Failure;
using schedule::FailureCause;
using schedule::FailureReport;

// The neighbor is the root of the parent's tree.
class SubTeamsBelowTest : public SubTeamFixture {
 protected:
  static constexpr TeamId kPromised{1'000'005};

  SubTeamsBelowTest() {
    schedule::TeamLayout layout = Layout();
    std::swap(layout.nodes[0], layout.nodes[1]);
    layout.shape.node_of_rank = {NodeIndex(1), NodeIndex(1), NodeIndex(0)};
    const schedule::Prepare prepare = JoinParent(layout);
    sent_.clear();
    core_.OnPlannerMessage(prepare);
    EXPECT_TRUE(Take<schedule::PrepareReply>().accepted);
    core_.OnPlannerMessage(schedule::Commit{.team = kTeam, .epoch = EpochId(1), .outgoing = {{NodeIndex(0), 9000}}});
    sent_.clear();
    KeepParents();
    TakeFromWire<LeftMessage>();
    // The first duplicate.
    Join(0);
    Join(1);
    EXPECT_EQ(TakeOneFromWire<SubTeamJoinMessage>().prepared, TeamId(0));
    AskToPrepare("t/1", kChild);
    EXPECT_EQ(TakeOneFromWire<SubTeamReplyMessage>().id, kChild);
    Decide("t/1", kChild, {}, kPromised);
  }

  void AskToPrepare(const std::string& name, TeamId id) {
    Receive(SubTeamPrepareMessage{
        .team = kTeam, .identity = {.uid = 1, .name = name}, .id = id, .parent_epoch = EpochId(1), .runs = {}});
  }
  void Decide(const std::string& name, TeamId id, const FailureReport& why = {}, TeamId next = {}) {
    Receive(SubTeamDecisionMessage{
        .team = kTeam, .identity = {.uid = 1, .name = name}, .id = id, .why = why, .again = false, .next = next});
  }
  // All ranks here join a duplicate. Returns the id with which it is prepared.
  TeamId JoinAll(const std::string& name) {
    for (const uint32_t rank : {0, 1}) Join(rank, 3, name);
    const auto join = TakeOneFromWire<SubTeamJoinMessage>();
    EXPECT_EQ(join.parent_epoch, EpochId(join.prepared == TeamId(0) ? 0 : 1));
    return join.prepared;
  }
  uint64_t formed() { return core_.Status().counters.at("daemon.sub_teams.formed"); }
};

TEST_F(SubTeamsBelowTest, JoinsComeWithThePreparationOfThePromisedId) {
  EXPECT_EQ(JoinAll("t/2"), kPromised);
  EXPECT_EQ(formed(), 1u);
  Decide("t/2", kPromised, {}, TeamId(kPromised.value() + 1));
  EXPECT_EQ(formed(), 2u);
  EXPECT_EQ(core_.Status().teams, 3u);
  EXPECT_EQ(JoinAll("t/3"), TeamId(kPromised.value() + 1));
  EXPECT_EQ(JoinAll("t/4"), TeamId(0)) << "an id is for one team";
}

TEST_F(SubTeamsBelowTest, RootMayGiveTheTeamAnotherId) {
  EXPECT_EQ(JoinAll("t/2"), kPromised);
  const TeamId other(kPromised.value() + 7);
  AskToPrepare("t/2", other);
  EXPECT_EQ(TakeOneFromWire<SubTeamReplyMessage>().id, other);
  EXPECT_EQ(core_.Status().teams, 3u);
  Decide("t/2", kPromised);
  EXPECT_EQ(formed(), 1u) << "it is not prepared any more";
  Decide("t/2", other);
  EXPECT_EQ(formed(), 2u);
}

TEST_F(SubTeamsBelowTest, FailureDropsWhatWasPrepared) {
  EXPECT_EQ(JoinAll("t/2"), kPromised);
  Decide("t/2", TeamId(0), kNoRoom);
  for (const Process& process : processes_) EXPECT_EQ(process.refused, kNoRoom);
  EXPECT_EQ(core_.Status().teams, 2u);
}

TEST_F(SubTeamsBelowTest, ProcessThatGoesAwayIsToldToTheRoot) {
  EXPECT_EQ(JoinAll("t/2"), kPromised);
  core_.CancelCreateTeam(processes_[1].id, 2, "no time left");
  const auto gone = TakeOneFromWire<SubTeamJoinMessage>();
  EXPECT_THAT(gone.why.text, Names("rank 1 on node n0 went away", "no time left"));
  Decide("t/2", TeamId(0), gone.why);
  EXPECT_EQ(processes_[0].refused, gone.why);
  EXPECT_EQ(core_.Status().teams, 2u);
}

TEST_F(SubTeamsBelowTest, PreparedTeamThatBreaksIsToldToTheRootThatStillGathers) {
  EXPECT_EQ(JoinAll("t/2"), kPromised);
  Receive(BreakMessage{.team = kPromised, .why = kNoRoom});
  EXPECT_EQ(TakeOneFromWire<SubTeamJoinMessage>().why, kNoRoom);
  for (const Process& process : processes_) EXPECT_EQ(process.refused, kNoRoom);
  Decide("t/2", TeamId(0), kNoRoom);
  EXPECT_EQ(core_.Status().teams, 2u);
}

TEST_F(SubTeamsBelowTest, ParentThatBreaksTakesThePreparedTeamAlong) {
  EXPECT_EQ(JoinAll("t/2"), kPromised);
  core_.OnPlannerMessage(schedule::BreakTeam{kTeam, {Failure::kMemberLost, "gone"}});
  while (core_.Progress()) {
  }
  core_.CheckInvariants();
  for (const Process& process : processes_) EXPECT_THAT(process.refused.text, Names("gone"));
  EXPECT_EQ(core_.Status().teams, 2u);
}

TEST_F(SubTeamsBelowTest, BreakOvertakesThePrepareOfItsTeam) {
  const TeamId id(kPromised.value() + 7);
  Receive(BreakMessage{.team = kPromised, .why = kNoRoom});
  Receive(BreakMessage{.team = id, .why = kNoRoom});
  EXPECT_EQ(JoinAll("t/2"), TeamId(0));
  AskToPrepare("t/2", id);
  EXPECT_EQ(TakeOneFromWire<SubTeamReplyMessage>().why, kNoRoom);
  Decide("t/2", id, kNoRoom);
  for (const Process& process : processes_) EXPECT_EQ(process.refused, kNoRoom);
  EXPECT_EQ(core_.Status().teams, 2u);
}

// A daemon between the root and this one may have forgotten the parent meanwhile, and so not pass the decision on.
TEST_F(SubTeamsBelowTest, DecisionThatDoesNotComeEndsWhatWasPrepared) {
  JoinAll("t/2");
  const TeamId id(kPromised.value() + 7);
  AskToPrepare("t/2", id);
  TakeFromWire<SubTeamReplyMessage>();
  std::vector<BreakMessage> breaks;
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(absl::Milliseconds(250));
    while (core_.Progress()) {
    }
    for (const BreakMessage& message : TakeFromWire<BreakMessage>()) breaks.push_back(message);
  }
  for (const Process& process : processes_) EXPECT_EQ(process.refused.failure, Failure::kTimedOut);
  EXPECT_EQ(core_.Status().teams, 2u);
  ASSERT_EQ(breaks.size(), 1u) << "the root may have formed it";
  EXPECT_EQ(breaks.front().team, id);
  Decide("t/2", id);
  EXPECT_EQ(formed(), 1u);
}

TEST_F(SubTeamsBelowTest, PlansAreMadeIfTheRootSaysSo) {
  Join(0, 2, "t/2");
  TakeFromWire<SubTeamJoinMessage>();
  SubTeamPrepareMessage prepare{.team = kTeam,
                                .identity = {.uid = 1, .name = "t/2"},
                                .id = TeamId(kPromised.value() + 7),
                                .parent_epoch = EpochId(0),
                                .runs = {{NodeIndex(1), 1}, {NodeIndex(0), 1}}};
  Receive(prepare);
  EXPECT_TRUE(TakeOneFromWire<SubTeamReplyMessage>().again);
  ++prepare.id;
  prepare.addresses = {"fake", "near"};
  Receive(prepare);
  EXPECT_EQ(TakeOneFromWire<SubTeamLabelMessage>().id, prepare.id);
  Receive(SubTeamLabelMessage{.team = kTeam, .id = prepare.id, .label = 9000});
  const auto reply = TakeOneFromWire<SubTeamReplyMessage>();
  EXPECT_EQ(reply.why, FailureReport{});
  EXPECT_NE(reply.plans, 0u);
  Decide("t/2", prepare.id);
  EXPECT_EQ(formed(), 2u);
}

TEST_F(SubTeamsBelowTest, ATeamOfAllRanksOfItsParentMayHaveThemInAnyOrder) {
  for (const uint32_t rank : {0, 1}) {
    core_.CreateTeam(processes_[rank].id,
                     {.request = 2, .parent = parents_[rank], .name = "t/2", .rank = Rank(rank + 1), .size = 3});
  }
  TakeFromWire<SubTeamJoinMessage>();
  const TeamId id(kPromised.value() + 7);
  Receive(SubTeamPrepareMessage{.team = kTeam,
                                .identity = {.uid = 1, .name = "t/2"},
                                .id = id,
                                .parent_epoch = EpochId(0),
                                .runs = {{NodeIndex(0), 1}, {NodeIndex(1), 2}},
                                .addresses = {"near", "fake"}});
  EXPECT_EQ(TakeOneFromWire<SubTeamLabelMessage>().id, id);
}

TEST_F(SubTeamsBelowTest, NodesThatTheRootNamesWronglyAreRefused) {
  const std::vector<std::vector<RankRun>> wrong = {
      {{NodeIndex(0), 1}}, {{NodeIndex(1), 1}, {NodeIndex(2), 1}}, {{NodeIndex(1), 2}, {NodeIndex(0), 2}}};
  TeamId id(kPromised.value() + 7);
  for (const std::vector<RankRun>& runs : wrong) {
    const std::string name = "t/" + std::to_string(id.value());
    Join(0, 2, name);
    TakeFromWire<SubTeamJoinMessage>();
    Receive(SubTeamPrepareMessage{.team = kTeam,
                                  .identity = {.uid = 1, .name = name},
                                  .id = id,
                                  .parent_epoch = EpochId(0),
                                  .runs = runs,
                                  .addresses = {"fake", "near"}});
    EXPECT_EQ(TakeOneFromWire<SubTeamReplyMessage>().why.failure, Failure::kInternal);
    Decide(name, id, kNoRoom);
    ++id;
  }
  EXPECT_EQ(core_.Status().teams, 2u);
}

// The root has found the planner again, before this daemon.
TEST_F(SubTeamsBelowTest, JoinsThatTheRootLeavesToThePlannerWaitForIt) {
  const auto is_left_to_planner = [&](const std::string& name) {
    core_.OnPlannerDown();
    for (int second = 0; second < 6; ++second) Tick();
    JoinAll(name);
    Receive(SubTeamDecisionMessage{
        .team = kTeam, .identity = {.uid = 1, .name = name}, .id = {}, .why = kNoRoom, .again = true, .next = {}});
    for (int second = 0; second < 4; ++second) Tick();
  };
  is_left_to_planner("t/2");
  for (const Process& process : processes_) EXPECT_EQ(process.refused, FailureReport{});
  core_.OnPlannerUp();
  sent_.clear();
  Registered();
  for (const uint32_t rank : {0, 1}) EXPECT_EQ(Take<schedule::JoinTeam>().rank, Rank(rank));
  is_left_to_planner("t/3");
  for (int second = 0; second < 2; ++second) Tick();
  for (const Process& process : processes_) EXPECT_EQ(process.refused.cause, FailureCause::kNoPlanner);
}

TEST_F(SubTeamsBelowTest, IdsAreRequestedForTeamsOfWhichItMayBeTheRoot) {
  Tick();
  Take<schedule::TeamIdsRequest>();
}
}  // namespace
}  // namespace copse::daemon
