// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/team.h"

#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "base/testing/status_matchers.h"
#include "daemon/core/testing/team_fixture.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

using copse::testing::Names;
using schedule::Failure;

using TeamTest = TeamFixture;

TEST_F(TeamTest, EndsIfAllRanksOfTheNodeDieBeforeItsCommit) {
  PrepareTeam();
  for (Process& process : processes_) {
    core_.Detach(process.id, /*died=*/true, "killed");
    Take<schedule::CancelJoin>();
  }
  CommitTeam();
  const auto broken = Take<schedule::TeamBroken>();
  EXPECT_EQ(broken.team, kTeam);
  EXPECT_EQ(broken.why.failure, Failure::kMemberLost);
  EXPECT_EQ(broken.why.cause, FailureCause::kProcessDied);
  EXPECT_EQ(broken.why.node, "n0");
  EXPECT_EQ(broken.why.rank, Rank(0));
  EXPECT_EQ(Take<schedule::LeaveTeam>().team, kTeam);
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(core_.Status().teams, 0u);
}

TEST_F(TeamTest, APrepareThatAnswersAJoinTwiceOrForAnotherRankIsRefused) {
  schedule::Prepare prepare{.layout = Layout(), .epoch = EpochId(1), .plans = PlansOf(Family::kCommon)};
  for (uint32_t r = 0; r < 2; ++r) {
    processes_[r].id = *core_.Attach({.uid = 1, .pid = 1 + r}, &processes_[r]);
    core_.CreateTeam(processes_[r].id, {.request = 1, .name = "t", .rank = Rank(r), .size = 3});
    prepare.requests.emplace_back(Take<schedule::JoinTeam>().request, Rank(r));
  }
  const auto requests = prepare.requests;
  for (const auto& wrong : {std::pair(requests[0].first, Rank(0)), std::pair(requests[0].first, Rank(1))}) {
    prepare.requests = {requests[0], wrong};
    core_.OnPlannerMessage(prepare);
    const auto reply = Take<schedule::PrepareReply>();
    EXPECT_FALSE(reply.accepted);
    EXPECT_THAT(reply.why.text, Names("node n0: ", absl::StrCat("rank=", wrong.second.value())));
  }
  prepare.requests = requests;
  core_.OnPlannerMessage(prepare);
  EXPECT_TRUE(Take<schedule::PrepareReply>().accepted);
}

TEST_F(TeamTest, RanksThatLiveAreToldOfOnesThatDiedBeforeItsCommit) {
  PrepareTeam();
  core_.CancelCreateTeam(processes_[0].id, 1, "gave up");
  Take<schedule::CancelJoin>();
  CommitTeam();
  EXPECT_EQ(Take<schedule::TeamBroken>().why.failure, Failure::kMemberLost);
  EXPECT_EQ(EndOf(1, Post(1, Collective::kBarrier)).failure, Failure::kMemberLost);
  Leave(1);
  EXPECT_EQ(Take<schedule::LeaveTeam>().team, kTeam);
}

TEST_F(TeamTest, JoinsOfDerivedTeamsFailWithTheirParentAndForItsReason) {
  FormTeam();
  TeamRequest derived{.request = 5, .parent = processes_[0].handle, .name = "t/0", .rank = Rank(0), .size = 2};
  core_.CreateTeam(processes_[0].id, derived);
  const uint64_t request = Take<schedule::JoinTeam>().request;
  const schedule::FailureReport why{Failure::kMemberLost, "rank 2 lost", FailureCause::kProcessDied, "n1", Rank(2), 0};
  PlannerRestarts();  // nobody else could tell it why
  Take<schedule::Register>();
  core_.OnPlannerMessage(schedule::BreakTeam{kTeam, why});
  Take<schedule::TeamBroken>();
  EXPECT_EQ(Take<schedule::CancelJoin>().request, request);
  const schedule::FailureReport waited = processes_[0].refused;
  EXPECT_EQ(waited.cause, why.cause);
  EXPECT_EQ(waited.node, "n1");
  EXPECT_THAT(waited.text, Names("team 't/0'", "team 7", "rank 2 lost"));
  derived.parent = processes_[1].handle;
  core_.CreateTeam(processes_[1].id, derived);
  EXPECT_EQ(processes_[1].refused, waited);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(TeamTest, ThePlannerIsToldThePlansOfTheCommittedEpoch) {
  PrepareTeam();
  core_.OnPlannerMessage(schedule::PlansQuery{kTeam});
  EXPECT_TRUE(sent_.empty()) << "none is committed";
  CommitTeam();
  core_.OnPlannerMessage(schedule::PlansQuery{kTeam});
  EXPECT_EQ(Take<schedule::TeamPlans>(), (schedule::TeamPlans{kTeam, EpochId(1), PlansOf(Family::kCommon)}));
  core_.OnPlannerMessage(schedule::PlansQuery{TeamId(99)});
  EXPECT_TRUE(sent_.empty());
}

TEST_F(TeamTest, ASwitchThatCrossesTheLastLeaveMakesNoTeam) {
  FormTeam();
  LeaveAll();
  EXPECT_EQ(Take<schedule::LeaveTeam>().team, kTeam);
  core_.OnPlannerMessage(schedule::Prepare{.layout = Layout(), .epoch = EpochId(2), .plans = PlansOf(Family::kCommon)});
  const auto reply = Take<schedule::PrepareReply>();
  EXPECT_FALSE(reply.accepted);
  EXPECT_EQ(reply.why.cause, FailureCause::kMemberLeft);
  EXPECT_EQ(reply.why.node, "n0");
  core_.OnPlannerUp();
  EXPECT_TRUE(Take<schedule::Register>().teams.empty());
}

TEST_F(TeamTest, APlannerThatComesBackHearsWhyATeamBrokeThatAllHaveLeft) {
  const schedule::FailureReport why{Failure::kMemberLost, "rank 2 lost", FailureCause::kNodeSilent, "n1", Rank(2), 0};
  FormTeam();
  core_.OnPlannerDown();
  core_.OnPlannerMessage(schedule::BreakTeam{kTeam, why});
  LeaveAll();
  EXPECT_TRUE(sent_.empty());
  for (int i = 0; i < 3; ++i) {
    core_.OnPlannerUp();
    const std::vector<schedule::RunningTeam> teams = Take<schedule::Register>().teams;
    ASSERT_EQ(teams.size(), 1u);
    EXPECT_EQ(teams[0].layout->id, kTeam);
    EXPECT_TRUE(teams[0].broken);
    EXPECT_EQ(teams[0].why, why);
    if (i == 0) continue;  // the first one is gone before it has answered, the second before it hears what comes
    Registered();
    EXPECT_EQ(Take<schedule::LeaveTeam>().team, kTeam);
  }
  core_.OnPlannerMessage(schedule::EndTeam{kTeam});
  core_.OnPlannerUp();
  EXPECT_TRUE(Take<schedule::Register>().teams.empty());
}

TEST_F(TeamTest, ANeighborsBreakIsNoCommit) {
  FormTeam();
  sent_.clear();
  const EncodedPeerMessage message =
      EncodePeerMessage(BreakMessage{.team = kTeam, .why = {Failure::kMemberLost, "rank 2 lost"}});
  emu::Bytes frame = emu::MakeDataFrame(Incarnation(kSelf + 1), Incarnation(kSelf), {});
  emu::FrameHeader header;
  std::memcpy(&header, frame.data(), sizeof(header));
  header.kind = static_cast<uint8_t>(emu::FrameKind::kControl);
  header.count = message.type;
  header.bytes = static_cast<uint32_t>(message.body.size());
  std::memcpy(frame.data(), &header, sizeof(header));
  frame.insert(frame.end(), message.body.begin(), message.body.end());
  transport_.to_deliver.push_back(frame);
  while (core_.Progress()) continue;
  EXPECT_EQ(Take<schedule::TeamBroken>().team, kTeam);
  EXPECT_TRUE(sent_.empty());
}

TEST_F(TeamTest, OnlyTheNewestFarewellsAreKept) {
  for (uint64_t id = 7; id < 107; ++id) {
    schedule::Prepare prepare{.layout = Layout(), .epoch = EpochId(1)};
    prepare.layout.id = TeamId(id);
    prepare.plans = PlansOf(Family::kCommon);
    core_.OnPlannerMessage(prepare);
    EXPECT_TRUE(Take<schedule::PrepareReply>().accepted);
    core_.OnPlannerMessage(schedule::BreakTeam{TeamId(id), {Failure::kMemberLost, "lost"}});
    sent_.clear();
  }
  core_.OnPlannerUp();
  const std::vector<schedule::RunningTeam> teams = Take<schedule::Register>().teams;
  ASSERT_EQ(teams.size(), 64u);
  EXPECT_EQ(teams.back().layout->id, TeamId(106));
}

TEST_F(TeamTest, APlannerThatAsksHearsTheCallsOfEachPlan) {
  FormTeam();
  const auto calls_of = [this](TeamId team) {
    sent_.clear();
    core_.OnPlannerMessage(schedule::StatusQuery{.query = 1, .calls_of = team});
    return Take<schedule::StatusReply>().status.plan_calls;
  };
  EXPECT_TRUE(calls_of(kTeam).empty());
  for (const uint32_t rank : {0u, 1u}) Post(rank, Collective::kBarrier);
  for (const uint32_t rank : {1u, 0u, 1u}) Post(rank, Collective::kAllreduce);
  const PlanId barrier = TestPlan(Collective::kBarrier, {{1}, {0}}).id;
  const PlanId allreduce = TestPlan(Collective::kAllreduce, {{1}, {0}}).id;
  const std::vector<schedule::PlanCalls> counted = {{barrier, 1}, {allreduce, 2}};
  EXPECT_EQ(calls_of(kTeam), counted) << "by calls, not by ranks";
  EXPECT_TRUE(calls_of(TeamId{0}).empty());
  EXPECT_TRUE(calls_of(TeamId{99}).empty());
}

TEST_F(TeamTest, ALongCallIsOneCallThoughItsChunksAreMany) {
  FormTeam();
  Post(0, Collective::kBarrier);
  Post(0, Collective::kBcast, 5 * schedule::kMessageBytesMax);
  clock_.Advance(absl::Seconds(3));
  const auto calls = [this] { return core_.Status().calls; };
  ASSERT_EQ(calls().size(), 2u);
  EXPECT_EQ(calls()[0].arguments.collective, Collective::kBarrier);
  EXPECT_EQ(calls()[1].sequence, CallSeq(1));
  EXPECT_EQ(calls()[1].arguments.count, 5 * schedule::kMessageBytesMax);
  EXPECT_EQ(calls()[1].age_s, 3);
  EXPECT_EQ(calls()[1].joined, std::vector<Rank>{Rank(0)});
  EXPECT_EQ(calls()[1].missing, std::vector<Rank>{Rank(1)});
  EXPECT_GT(core_.Status().progress[0].calls, CallSeq(2)) << "several chunks are in flight";
  Post(1, Collective::kBarrier);
  Post(1, Collective::kBcast, 5 * schedule::kMessageBytesMax);
  ASSERT_EQ(calls().size(), 2u);
  EXPECT_TRUE(calls()[1].missing.empty());
}

TEST_F(TeamTest, ADrainedNodeThatIsAskedSaysSo) {
  core_.OnPlannerMessage(schedule::Drain{.on = true});
  core_.OnPlannerMessage(schedule::Prepare{.layout = Layout(), .epoch = EpochId(1)});
  const auto reply = Take<schedule::PrepareReply>();
  EXPECT_FALSE(reply.accepted);
  EXPECT_EQ(reply.why.cause, FailureCause::kNodeDraining);
  EXPECT_EQ(reply.why.node, "n0");
}

TEST_F(TeamTest, NeighborsHearOfTheFirstRankThatLeavesAndOfTheLast) {
  FormTeam();
  std::vector<LeftMessage> left;
  for (uint32_t r = 0; r < 2; ++r) {
    Leave(r);
    EXPECT_TRUE(TakeFromWire<LeftMessage>().empty());
    clock_.Advance(Departures::kDelay);
    core_.Progress();
    for (const LeftMessage& message : TakeFromWire<LeftMessage>()) left.push_back(message);
  }
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].rank, Rank(0));
  EXPECT_EQ(left[0].calls, CallSeq(0));
  EXPECT_FALSE(left[0].all);
  EXPECT_EQ(left[1].rank, Rank(0));
  EXPECT_TRUE(left[1].all);
}

TEST_F(TeamTest, RanksThatLeaveTogetherAreOneMessage) {
  FormTeam();
  core_.Progress();
  LeaveAll();
  EXPECT_EQ(core_.NextDeadline(), clock_.Now() + Departures::kDelay);
  core_.SayStopping(/*done=*/false);  // nothing waits longer than the daemon
  const std::vector<LeftMessage> left = TakeFromWire<LeftMessage>();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].all);
}

TEST_F(TeamTest, NeighborThatHasLeftHearsOfNoDeparture) {
  FormTeam();
  LeaveAll();
  Receive(LeftMessage{.team = kTeam, .calls = CallSeq(0), .rank = Rank(2), .all = true});
  core_.SayStopping(/*done=*/false);
  EXPECT_TRUE(TakeFromWire<LeftMessage>().empty());
}

// Each is said once: nobody would ask again.
class FullNetworkTest : public TeamTest {
 protected:
  FullNetworkTest() {
    FormTeam();
    transport_.answer = absl::ResourceExhaustedError("full");
    // Longer than anything waits that has a limit: heartbeats, and what stalled calls ask.
    Post(0, Collective::kBarrier);
    for (int i = 0; i < 40; ++i) Pass();
  }
  void Pass() {
    clock_.Advance(absl::Seconds(1));
    while (core_.Progress()) {
    }
  }
  void Empty() {
    transport_.answer = absl::OkStatus();
    Pass();
  }
};

TEST_F(FullNetworkTest, ABreakWaitsForRoom) {
  const schedule::FailureReport why{Failure::kMemberLost, "rank 1 lost"};
  core_.OnPlannerMessage(schedule::BreakTeam{kTeam, why});
  Pass();
  Empty();
  const std::vector<BreakMessage> breaks = TakeFromWire<BreakMessage>();
  ASSERT_EQ(breaks.size(), 1u);
  EXPECT_EQ(breaks[0].team, kTeam);
  EXPECT_EQ(breaks[0].why, why);
}

TEST_F(FullNetworkTest, LeavingWaitsForRoom) {
  Leave(1);
  Empty();
  const std::vector<LeftMessage> left = TakeFromWire<LeftMessage>();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].rank, Rank(1));
}

TEST_F(FullNetworkTest, HeartbeatsDoNotPileUp) {
  Empty();
  EXPECT_LE(TakeFromWire<HeartbeatMessage>().size(), 2u);
}

TEST_F(TeamTest, APlannerThatWantsToKnowHearsThatTheDaemonStops) {
  core_.SayStopping(/*done=*/false);
  EXPECT_TRUE(sent_.empty());
  Registered({schedule::Feature::kStopping});
  EXPECT_FALSE(Take<schedule::Stopping>().done);
  core_.SayStopping(/*done=*/true);
  EXPECT_TRUE(Take<schedule::Stopping>().done);
}

TEST_F(TeamTest, ADaemonThatStopsDrainsWhateverAnAdministratorSays) {
  core_.OnPlannerMessage(schedule::Drain{.on = true});
  core_.OnPlannerMessage(schedule::Drain{.on = false});
  EXPECT_EQ(core_.Status().state, "ready");
  core_.StartDrain("it stops");
  core_.SayStopping(/*done=*/false);
  core_.OnPlannerMessage(schedule::Drain{.on = false});
  EXPECT_EQ(core_.Status().state, "draining");
}

TEST_F(TeamTest, AnOperationThatFailsOnItsWayFailsItsCallAndNoOther) {
  constexpr uint32_t kDown = 1;
  const uint16_t hash =
      HashArguments({.collective = Collective::kBcast, .type = ElementType::kUint8, .count = 8, .root = 2});
  FormTeam();
  for (const bool failed : {true, false}) {
    const uint16_t sequence = failed ? 0 : 1;
    const uint64_t calls[] = {Post(0, Collective::kBcast), Post(1, Collective::kBcast)};
    ReceivePacket(sequence, hash, kDown, std::vector<uint8_t>(failed ? 0 : 8), failed);
    for (uint32_t r = 0; r < 2; ++r) {
      const schedule::FailureReport end = EndOf(r, calls[r]);
      EXPECT_EQ(end.failure, failed ? Failure::kInternal : Failure::kNone);
      if (failed) EXPECT_THAT(end.text, Names("call 0", "team 't'", "bcast", "node n0"));
    }
  }
}

// The parameters are the bytes of a message, of which a call has 8, and whether it comes before the ranks' calls.
class MessageLengthTest : public TeamFixture, public ::testing::WithParamInterface<std::tuple<size_t, bool>> {};
INSTANTIATE_TEST_SUITE_P(ShorterAndLonger, MessageLengthTest,
                         ::testing::Combine(::testing::Values(0, 5, 9), ::testing::Bool()));

// Where it is too short, bytes of an earlier call would be in the result.
TEST_P(MessageLengthTest, AnotherLengthThanTheCallHasEndsTheTeamAndNamesBothNodes) {
  constexpr uint32_t kDown = 1;
  const auto [bytes, is_early] = GetParam();
  const uint16_t hash =
      HashArguments({.collective = Collective::kBcast, .type = ElementType::kUint8, .count = 8, .root = 2});
  FormTeam();
  const auto post = [&] { return std::pair(Post(0, Collective::kBcast), Post(1, Collective::kBcast)); };
  const auto first = post();
  ReceivePacket(0, hash, kDown, std::vector<uint8_t>(8, 0x11));
  EXPECT_EQ(EndOf(0, first.first).failure, Failure::kNone);
  EXPECT_EQ(EndOf(1, first.second).failure, Failure::kNone);
  std::memset(memory_, 0xee, sizeof(memory_));

  const std::vector<uint8_t> message(bytes, 0x22);
  if (is_early) ReceivePacket(1, hash, kDown, message);
  const auto second = post();
  if (!is_early) ReceivePacket(1, hash, kDown, message);
  while (core_.Progress()) {
  }
  for (const schedule::FailureReport& end : {EndOf(0, second.first), EndOf(1, second.second)}) {
    EXPECT_EQ(end.failure, Failure::kMismatch);
    EXPECT_EQ(end.cause, FailureCause::kRanksDiffer);
    EXPECT_EQ(end.node, "n1");
    EXPECT_THAT(end.text, Names("call 1", "sender=2", "receiver=0", absl::StrCat("bytes=", bytes), "awaited=8"));
  }
  for (const uint8_t byte : memory_) EXPECT_EQ(byte, 0xee);
  EXPECT_EQ(Take<schedule::TeamBroken>().why.failure, Failure::kMismatch);
  EXPECT_EQ(TakeFromWire<BreakMessage>().size(), 1u);
}

}  // namespace
}  // namespace copse::daemon
