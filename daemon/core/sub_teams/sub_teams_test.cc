// SPDX-License-Identifier: Apache-2.0
//
// Tests how one daemon, the root of its parent's tree or not, takes part in the formation of sub-teams.
#include "daemon/core/sub_teams/sub_teams.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/status_matchers.h"
#include "daemon/core/testing/team_fixture.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;
using schedule::Failure;
using schedule::FailureReport;
using schedule::Feature;

constexpr TeamId kChild(1'000'001);
const FailureReport kNoRoom{Failure::kNoMemory, "node n1 refused: no room"};

class SubTeamsTest : public TeamFixture {
 protected:
  SubTeamsTest() {
    has_sub_teams_ = true;
    Registered({Feature::kDerivedTeams, Feature::kSubTeams});
  }

  // The parent is formed; its node 0, which this daemon is, is the root of its tree.
  void FormParent(bool has_ids = true) {
    PrepareTeam0();
    if (has_ids) core_.OnPlannerMessage(schedule::TeamIds{kChild, 1024});
    CommitTeam();
    TakeFromWire<LeftMessage>();
    sent_.clear();
    for (uint32_t r = 0; r < 2; ++r) parents_[r] = processes_[r].handle;
  }
  void PrepareTeam0() {
    schedule::Prepare prepare{.layout = Layout(), .epoch = EpochId(1), .plans = PlansOf(Family::kCommon)};
    for (uint32_t r = 0; r < 2; ++r) {
      processes_[r].id = *core_.Attach({.uid = 1, .pid = 1 + r}, &processes_[r]);
      core_.CreateTeam(processes_[r].id, {.request = 1, .name = "t", .rank = Rank(r), .size = 3});
      prepare.requests.emplace_back(Take<schedule::JoinTeam>().request, Rank(r));
    }
    prepare.has_sub_teams = has_sub_teams_;
    core_.OnPlannerMessage(prepare);
    if (has_sub_teams_) Take<schedule::TeamIdsRequest>();
    EXPECT_TRUE(Take<schedule::PrepareReply>().accepted);
  }
  // Rank `rank` here joins the duplicate, or another sub-team.
  void Join(uint32_t rank, uint32_t size = 3, const std::string& name = "t/1") {
    processes_[rank].refused = {};
    core_.CreateTeam(processes_[rank].id,
                     {.request = 2, .parent = parents_[rank], .name = name, .rank = Rank(rank), .size = size});
    core_.CheckInvariants();
  }
  static SubTeamJoinMessage NeighborJoins() {
    return {.team = kTeam,
            .identity = {.uid = 1, .name = "t/1"},
            .size = 3,
            .node = NodeIndex(1),
            .ranks = {Rank(2)},
            .why = {}};
  }
  template <typename T>
  T TakeOneFromWire() {
    const std::vector<T> taken = TakeFromWire<T>();
    EXPECT_EQ(taken.size(), 1u);
    return taken.empty() ? T{} : taken.front();
  }
  void Form() {
    Gather();
    Reply();
    EXPECT_EQ(TakeOneFromWire<SubTeamDecisionMessage>().why, FailureReport{});
  }
  void Tick() {
    clock_.Advance(absl::Seconds(1));
    while (core_.Progress()) {
    }
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

  uint32_t parents_[2] = {};  // handles
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

// The neighbor is the root of the parent's tree.
class SubTeamsBelowTest : public SubTeamsTest {
 protected:
  static constexpr TeamId kPromised{1'000'005};

  SubTeamsBelowTest() {
    schedule::TeamLayout layout = Layout();
    std::swap(layout.nodes[0], layout.nodes[1]);
    layout.shape.node_of_rank = {NodeIndex(1), NodeIndex(1), NodeIndex(0)};
    schedule::Prepare prepare{.layout = layout, .epoch = EpochId(1), .plans = PlansOf(Family::kCommon)};
    for (uint32_t r = 0; r < 2; ++r) {
      processes_[r].id = *core_.Attach({.uid = 1, .pid = 1 + r}, &processes_[r]);
      core_.CreateTeam(processes_[r].id, {.request = 1, .name = "t", .rank = Rank(r), .size = 3});
      prepare.requests.emplace_back(Take<schedule::JoinTeam>().request, Rank(r));
    }
    prepare.has_sub_teams = true;
    sent_.clear();
    core_.OnPlannerMessage(prepare);
    EXPECT_TRUE(Take<schedule::PrepareReply>().accepted);
    core_.OnPlannerMessage(schedule::Commit{.team = kTeam, .epoch = EpochId(1), .outgoing = {{NodeIndex(0), 9000}}});
    sent_.clear();
    for (uint32_t r = 0; r < 2; ++r) parents_[r] = processes_[r].handle;
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
