// SPDX-License-Identifier: Apache-2.0
//
// Tests how one daemon, the root of its parent's tree, takes part in the formation of sub-teams.
#include "daemon/core/sub_teams/sub_teams.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/status_matchers.h"
#include "daemon/core/testing/sub_team_fixture.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;
using schedule::Failure;
using schedule::FailureReport;
using schedule::Feature;

class SubTeamsTest : public SubTeamFixture {
 protected:
  // The parent is formed; its node 0, which this daemon is, is the root of its tree.
  void FormParent(bool has_ids = true) {
    PrepareTeam0();
    if (has_ids) core_.OnPlannerMessage(schedule::TeamIds{kChild, 1024});
    CommitTeam();
    TakeFromWire<LeftMessage>();
    sent_.clear();
    KeepParents();
  }
  void PrepareTeam0() {
    const schedule::Prepare prepare = JoinParent(Layout());
    core_.OnPlannerMessage(prepare);
    if (has_sub_teams_) Take<schedule::TeamIdsRequest>();
    EXPECT_TRUE(Take<schedule::PrepareReply>().accepted);
  }
  static SubTeamJoinMessage NeighborJoins() {
    return {.team = kTeam,
            .identity = {.uid = 1, .name = "t/1"},
            .size = 3,
            .node = NodeIndex(1),
            .ranks = {Rank(2)},
            .why = {}};
  }
  void Form() {
    Gather();
    Reply();
    EXPECT_EQ(TakeOneFromWire<SubTeamDecisionMessage>().why, FailureReport{});
  }
  // All ranks have joined, and the neighbor is asked to prepare the duplicate.
  void Gather() {
    Join(0);
    Join(1);
    Receive(NeighborJoins());
    EXPECT_EQ(TakeOneFromWire<SubTeamPrepareMessage>().id, kChild);
  }
  // The neighbor joins the duplicate `name`, which it has prepared with the id `ahead`.
  void NeighborIsAhead(const std::string& name, TeamId ahead, EpochId epoch = EpochId(1)) {
    SubTeamJoinMessage join = NeighborJoins();
    join.identity.name = name;
    join.prepared = ahead;
    join.parent_epoch = epoch;
    Receive(join);
  }
  static PeerMessageType TypeOf(const std::vector<uint8_t>& frame) {
    emu::FrameHeader header;
    std::memcpy(&header, frame.data(), sizeof(header));
    return static_cast<PeerMessageType>(header.count);
  }
  void Reply(const FailureReport& why = {}, bool again = false) {
    Receive(SubTeamReplyMessage{.team = kTeam, .id = kChild, .why = why, .again = again, .plans = 0});
  }
};

TEST_F(SubTeamsTest, RootFormsADuplicateAndReportsIt) {
  FormParent();
  Join(0);
  Join(1);
  Receive(NeighborJoins());
  for (const auto& [peer, frame] : transport_.sent) {  // labels follow from the parent's
    EXPECT_NE(TypeOf(frame), PeerMessageType::kSubTeamLabel);
  }
  EXPECT_EQ(TakeOneFromWire<SubTeamPrepareMessage>().id, kChild);
  Reply();
  const auto decision = TakeOneFromWire<SubTeamDecisionMessage>();
  EXPECT_EQ(decision.id, kChild);
  EXPECT_EQ(decision.why, FailureReport{});
  EXPECT_TRUE(sent_.empty());
  Tick();
  const auto formed = Take<schedule::TeamFormed>();
  EXPECT_EQ(formed.layout.id, kChild);
  EXPECT_EQ(formed.layout.parent, kTeam);
  EXPECT_EQ(formed.parent_epoch, EpochId(1));
  EXPECT_TRUE(formed.layout.nodes.empty());
  EXPECT_TRUE(sent_.empty());
  for (uint32_t r = 0; r < 2; ++r) EXPECT_NE(processes_[r].handle, parents_[r]);
  EXPECT_EQ(core_.Status().counters.at("daemon.sub_teams.formed"), 1u);
}

TEST_F(SubTeamsTest, RootDecidesAtOnceIfAllArePreparedWithThePromisedId) {
  FormParent();
  Gather();
  Reply();
  TeamId next = TakeOneFromWire<SubTeamDecisionMessage>().next;
  for (const char* name : {"t/2", "t/3"}) {
    EXPECT_GT(next, kChild);
    NeighborIsAhead(name, next);
    Join(0, 3, name);
    Join(1, 3, name);
    const auto decision = TakeOneFromWire<SubTeamDecisionMessage>();
    EXPECT_EQ(decision.id, next);
    EXPECT_EQ(decision.why, FailureReport{});
    EXPECT_NE(decision.next, next);
    next = decision.next;
  }
  EXPECT_EQ(core_.Status().counters.at("daemon.sub_teams.formed"), 3u);
}

TEST_F(SubTeamsTest, RootHasAllPrepareIfOneIsNotPreparedAsPromised) {
  FormParent();
  Gather();
  Reply();
  const TeamId next = TakeOneFromWire<SubTeamDecisionMessage>().next;
  const struct {
    TeamId ahead;
    EpochId epoch;
  } others[] = {{TeamId(0), EpochId(0)}, {TeamId(next.value() + 1), EpochId(1)}, {next, EpochId(2)}};
  for (const auto& other : others) {
    const std::string name = "t/of " + std::to_string(other.ahead.value());
    NeighborIsAhead(name, other.ahead, other.epoch);
    Join(0, 3, name);
    Join(1, 3, name);
    const auto prepare = TakeOneFromWire<SubTeamPrepareMessage>();
    EXPECT_NE(prepare.id, next) << "it may be prepared";
    Receive(SubTeamReplyMessage{.team = kTeam, .id = prepare.id, .why = kNoRoom, .again = false, .plans = 0});
    TakeFromWire<SubTeamDecisionMessage>();
  }
}

// The neighbor has prepared what was promised before; another duplicate, which threads form at once, has renewed that.
TEST_F(SubTeamsTest, RootHasAllPrepareIfThePromiseWasRenewed) {
  FormParent();
  Gather();
  Reply();
  const TeamId promised = TakeOneFromWire<SubTeamDecisionMessage>().next;
  NeighborIsAhead("t/2", promised);
  NeighborIsAhead("t/3", TeamId(0), EpochId(0));
  Join(0, 3, "t/3");
  Join(1, 3, "t/3");
  const TeamId other = TakeOneFromWire<SubTeamPrepareMessage>().id;
  Receive(SubTeamReplyMessage{.team = kTeam, .id = other, .why = {}, .again = false, .plans = 0});
  const TeamId renewed = TakeOneFromWire<SubTeamDecisionMessage>().next;
  EXPECT_NE(renewed, promised);
  Join(0, 3, "t/2");
  Join(1, 3, "t/2");
  const TeamId asked = TakeOneFromWire<SubTeamPrepareMessage>().id;
  EXPECT_NE(asked, promised);
  EXPECT_NE(asked, renewed) << "it may be prepared";
  Receive(SubTeamReplyMessage{.team = kTeam, .id = asked, .why = {}, .again = false, .plans = 0});
  EXPECT_EQ(TakeOneFromWire<SubTeamDecisionMessage>().id, asked);
}

// The neighbor has prepared the duplicate, has lost a neighbor of its own, and does not have the team any more; its
// joins came before that.
TEST_F(SubTeamsTest, BreakOvertakesTheLastJoinOfAPromisedDuplicate) {
  FormParent();
  Gather();
  Reply();
  const TeamId next = TakeOneFromWire<SubTeamDecisionMessage>().next;
  NeighborIsAhead("t/2", next);
  Receive(BreakMessage{.team = next, .why = kNoRoom});
  Join(0, 3, "t/2");
  Join(1, 3, "t/2");
  EXPECT_EQ(TakeOneFromWire<SubTeamDecisionMessage>().why, kNoRoom);
  for (const Process& process : processes_) EXPECT_EQ(process.refused, kNoRoom);
  EXPECT_EQ(core_.Status().counters.at("daemon.sub_teams.formed"), 1u);
  EXPECT_EQ(core_.Status().teams, 2u);
}

TEST_F(SubTeamsTest, TeamsThatEndBeforeTheirReportAreNotReported) {
  FormParent();
  Form();
  LeaveAll();
  Tick();
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(core_.Status().teams, 1u);
}

TEST_F(SubTeamsTest, ReportComesBeforeAllElseAboutTheTeam) {
  FormParent();
  Form();
  core_.Detach(processes_[0].id, /*died=*/true, "killed");
  EXPECT_EQ(Take<schedule::TeamBroken>().team, kTeam);
  EXPECT_EQ(Take<schedule::TeamFormed>().layout.id, kChild);
  EXPECT_EQ(Take<schedule::TeamBroken>().team, kChild);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(SubTeamsTest, RefusalFailsAllJoins) {
  FormParent();
  Gather();
  Reply(kNoRoom);
  EXPECT_EQ(TakeOneFromWire<SubTeamDecisionMessage>().why, kNoRoom);
  for (const Process& process : processes_) EXPECT_EQ(process.refused, kNoRoom);
  EXPECT_EQ(core_.Status().teams, 1u);
  EXPECT_TRUE(sent_.empty());  // the planner has never heard of it
  // Ranks that have been told try again.
  Receive(NeighborJoins());
  Join(0);
  Join(1);
  EXPECT_EQ(processes_[0].refused, FailureReport{});
  EXPECT_EQ(TakeOneFromWire<SubTeamPrepareMessage>().id, TeamId(kChild.value() + 1));
}

TEST_F(SubTeamsTest, LateJoinGetsTheOutcome) {
  FormParent();
  Join(0);
  SubTeamJoinMessage gone = NeighborJoins();
  gone.why = {Failure::kMemberLost, "rank 2 on node n1 went away"};
  Receive(gone);
  EXPECT_EQ(processes_[0].refused, gone.why);
  EXPECT_EQ(TakeOneFromWire<SubTeamDecisionMessage>().why, gone.why);
  Join(1);
  EXPECT_EQ(processes_[1].refused, gone.why);
}

TEST_F(SubTeamsTest, WithoutIdsThePlannerFormsIt) {
  FormParent(/*has_ids=*/false);
  Join(0);
  Join(1);
  EXPECT_TRUE(sent_.empty());
  Receive(NeighborJoins());
  EXPECT_TRUE(TakeOneFromWire<SubTeamDecisionMessage>().again);
  for (uint32_t r = 0; r < 2; ++r) {
    const auto join = Take<schedule::JoinTeam>();
    EXPECT_EQ(join.parent, kTeam);
    EXPECT_EQ(join.rank, Rank(r));
  }
  Receive(NeighborJoins());  // it is told again, too, if it joins late or once more
}

// A planner that has lost its store begins anew, and issues ids; then it hears which cluster it is of, with such teams.
TEST_F(SubTeamsTest, IdsFromBeforeThePlannerKnewItsClusterAreNotUsed) {
  PlannerRestarts();
  core_.OnPlannerMessage(schedule::Registered{
      .accepted = true, .features = {Feature::kDerivedTeams, Feature::kSubTeams}, .cluster = "fresh"});
  sent_.clear();
  FormParent();
  core_.OnPlannerMessage(schedule::Cluster{.uuid = "the daemons'"});
  Take<schedule::TeamIdsRequest>();
  Join(0);
  Join(1);
  Receive(NeighborJoins());
  EXPECT_TRUE(TakeOneFromWire<SubTeamDecisionMessage>().again);
  Take<schedule::JoinTeam>();
}

TEST_F(SubTeamsTest, IdsOfAnotherClusterAreNotUsed) {
  const auto register_at = [&](const std::string& cluster) {
    PlannerRestarts();
    core_.OnPlannerMessage(schedule::Registered{
        .accepted = true, .features = {Feature::kDerivedTeams, Feature::kSubTeams}, .cluster = cluster});
    sent_.clear();
  };
  register_at("a");
  FormParent();
  register_at("a");
  Gather();
  Reply(kNoRoom);
  TakeFromWire<SubTeamDecisionMessage>();
  register_at("b");
  Receive(NeighborJoins());
  Join(0);
  Join(1);
  EXPECT_TRUE(TakeOneFromWire<SubTeamDecisionMessage>().again);
}

TEST_F(SubTeamsTest, OtherShapesAreLeftToThePlanner) {
  FormParent();
  Join(0, 2);
  SubTeamJoinMessage join = NeighborJoins();
  join.size = 2;
  join.ranks = {Rank(1)};
  Receive(join);
  EXPECT_TRUE(TakeOneFromWire<SubTeamDecisionMessage>().again);
  EXPECT_EQ(Take<schedule::JoinTeam>().size, 2u);
}

TEST_F(SubTeamsTest, TeamOfOneNodeNeedsNoPlanner) {
  FormParent();
  Join(1, 2);
  processes_[0].refused = {};
  core_.CreateTeam(processes_[0].id, {.request = 2, .parent = parents_[0], .name = "t/1", .rank = Rank(0), .size = 2});
  Tick();
  const auto formed = Take<schedule::TeamFormed>();
  EXPECT_EQ(formed.layout.id, kChild);
  EXPECT_EQ(formed.layout.shape.node_count, 1u);
  ASSERT_EQ(formed.layout.nodes.size(), 1u);
  EXPECT_EQ(formed.layout.nodes[0].incarnation, Layout().nodes[0].incarnation);
  EXPECT_FALSE(formed.plans.empty());
  EXPECT_TRUE(sent_.empty());
  for (uint32_t r = 0; r < 2; ++r) EXPECT_NE(processes_[r].handle, parents_[r]);
}

// Rank 0 here and rank 2 on the neighbor's node are a team of a shape that was never formed.
class NewShapeTest : public SubTeamsTest {
 protected:
  void Begin() {
    EXPECT_TRUE(core_.OpenNetwork().ok());
    FormParent();
    core_.OnPlannerDown();
    Join(0, 2);
    SubTeamJoinMessage join = NeighborJoins();
    join.size = 2;
    join.ranks = {Rank(1)};
    join.address = "near";
    Receive(join);
  }
};

TEST_F(NewShapeTest, RootHasTheMembersMakePlansWhileThePlannerIsAway) {
  Begin();
  const auto prepares = TakeFromWire<SubTeamPrepareMessage>();
  ASSERT_EQ(prepares.size(), 2u) << "the neighbor may know plans";
  EXPECT_TRUE(prepares[0].addresses.empty());
  EXPECT_EQ(prepares[1].addresses, (std::vector<std::string>{"fake", "near"}));
  const TeamId id = prepares[1].id;
  EXPECT_NE(id, prepares[0].id);
  Receive(SubTeamReplyMessage{.team = kTeam, .id = prepares[0].id, .why = kNoRoom, .again = true, .plans = 0});
  Receive(SubTeamLabelMessage{.team = kTeam, .id = id, .label = 9000});
  Receive(SubTeamReplyMessage{.team = kTeam, .id = id, .why = {}, .again = false, .plans = 0});
  EXPECT_EQ(TakeOneFromWire<SubTeamDecisionMessage>().id, id);
  EXPECT_NE(processes_[0].handle, parents_[0]);
  core_.OnPlannerUp();
  EXPECT_EQ(Take<schedule::Register>().teams.size(), 2u);
  Registered({Feature::kDerivedTeams, Feature::kSubTeams});
  const auto formed = Take<schedule::TeamFormed>();
  EXPECT_EQ(formed.layout.id, id);
  EXPECT_FALSE(formed.plans.empty());
}

TEST_F(NewShapeTest, MembersMakePlansOnce) {
  Begin();
  const auto prepares = TakeFromWire<SubTeamPrepareMessage>();
  ASSERT_EQ(prepares.size(), 2u);
  Receive(SubTeamReplyMessage{.team = kTeam, .id = prepares[1].id, .why = kNoRoom, .again = true, .plans = 0});
  EXPECT_TRUE(TakeOneFromWire<SubTeamDecisionMessage>().again);
  EXPECT_EQ(core_.Status().teams, 1u);
}

TEST_F(NewShapeTest, RefusalForLackOfRoomIsFinal) {
  Begin();
  const auto prepares = TakeFromWire<SubTeamPrepareMessage>();
  ASSERT_EQ(prepares.size(), 2u);
  Receive(SubTeamReplyMessage{.team = kTeam, .id = prepares[1].id, .why = kNoRoom, .again = false, .plans = 0});
  EXPECT_EQ(TakeOneFromWire<SubTeamDecisionMessage>().why, kNoRoom);
  EXPECT_EQ(processes_[0].refused, kNoRoom);
  EXPECT_EQ(core_.Status().teams, 1u);
}

TEST_F(SubTeamsTest, ParentThatBreaksFailsTheJoins) {
  FormParent();
  Gather();
  core_.OnPlannerMessage(schedule::BreakTeam{kTeam, {Failure::kMemberLost, "gone"}});
  while (core_.Progress()) {
  }
  core_.CheckInvariants();
  for (const Process& process : processes_) EXPECT_THAT(process.refused.text, Names("gone"));
  EXPECT_EQ(core_.Status().teams, 1u);
  for (const schedule::FromDaemon& message : std::exchange(sent_, {})) {
    if (const auto* broken = std::get_if<schedule::TeamBroken>(&message)) {
      EXPECT_EQ(broken->team, kTeam);
    }
    EXPECT_FALSE(std::holds_alternative<schedule::LeaveTeam>(message));
  }
}

TEST_F(SubTeamsTest, RanksThatDoNotComeAreNamed) {
  FormParent();
  Join(0);
  Receive(NeighborJoins());
  for (int i = 0; i < 140; ++i) {
    clock_.Advance(absl::Milliseconds(250));
    core_.Progress();
  }
  core_.CheckInvariants();
  EXPECT_EQ(processes_[0].refused.failure, Failure::kTimedOut);
  EXPECT_THAT(processes_[0].refused.text, Names("1 of 3", ": 1"));
}

TEST_F(SubTeamsTest, MemberThatDoesNotAnswerIsNamed) {
  FormParent();
  Gather();
  for (int i = 0; i < 60; ++i) {
    clock_.Advance(absl::Milliseconds(250));
    core_.Progress();
  }
  EXPECT_EQ(processes_[0].refused.failure, Failure::kTimedOut);
  EXPECT_THAT(processes_[0].refused.text, Names("10s", "node n1"));
}

TEST_F(SubTeamsTest, ProcessThatGoesAwayFailsTheFormation) {
  FormParent();
  Gather();
  core_.CancelCreateTeam(processes_[1].id, 2, "no time left");
  EXPECT_THAT(TakeOneFromWire<SubTeamDecisionMessage>().why.text, Names("rank 1 on node n0 went away", "no time left"));
  EXPECT_THAT(processes_[0].refused.text, Names("rank 1 on node n0"));
}

TEST_F(SubTeamsTest, ProcessThatDiesFailsTheJoinsOfItsNeighbors) {
  FormParent();
  Join(0);
  Join(1);
  core_.Detach(processes_[0].id, /*died=*/true, "killed");
  EXPECT_THAT(processes_[1].refused.text, Names("rank 0 on node n0", "killed"));
}

TEST_F(SubTeamsTest, UnknownParentIsLeftToThePlanner) {
  FormParent();
  SubTeamJoinMessage join = NeighborJoins();
  join.team = TeamId(99);
  Receive(join);
  EXPECT_TRUE(TakeOneFromWire<SubTeamDecisionMessage>().again);
}

TEST_F(SubTeamsTest, TeamsOfEarlierDaemonsAreFormedByThePlanner) {
  has_sub_teams_ = false;
  FormParent(/*has_ids=*/false);
  Join(0);
  EXPECT_EQ(Take<schedule::JoinTeam>().parent, kTeam);
}

TEST_F(SubTeamsTest, TeamsFormedWhileThePlannerIsAwayAreReportedLater) {
  FormParent();
  core_.OnPlannerDown();
  Gather();
  Reply();
  EXPECT_TRUE(sent_.empty());
  core_.OnPlannerUp();
  EXPECT_EQ(Take<schedule::Register>().teams.size(), 2u);
  Registered({Feature::kDerivedTeams, Feature::kSubTeams});
  EXPECT_EQ(Take<schedule::TeamFormed>().layout.id, kChild);
}

TEST_F(SubTeamsTest, TeamsThatAreBeingFormedAreNotNamedToThePlanner) {
  FormParent();
  Gather();
  PlannerRestarts();
  EXPECT_EQ(Take<schedule::Register>().teams.size(), 1u);
}

}  // namespace
}  // namespace copse::daemon
