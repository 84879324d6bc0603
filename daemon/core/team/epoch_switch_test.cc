// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/epoch_switch.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "daemon/core/team/leavers.h"
#include "daemon/core/testing/test_plan.h"
#include "gtest/gtest.h"
#include "offload_emu/testing/fake_transport.h"
#include "offload_emu/testing/recording_sinks.h"
#include "schedule/plan.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;
using copse::testing::Names;

class CountingLink : public PeerLink {
 public:
  void SendToPeer(Incarnation, const PeerMessage&) override {}
  absl::Status AcquireNeighbor(const schedule::TeamNode&) override {
    ++users;
    return absl::OkStatus();
  }
  void ReleaseNeighbor(Incarnation) override { --users; }

  int users = 0;
};

// Ranks 0 and 1 on two nodes; this is node 0.
class EpochSwitchTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kWindow = 4;

  static schedule::TeamLayout Layout() {
    schedule::TeamLayout layout{.id = TeamId(7), .shape = {.node_count = 2}, .window = kWindow};
    for (uint32_t n = 0; n < 2; ++n) {
      layout.shape.node_of_rank.push_back(NodeIndex(n));
      layout.nodes.push_back({"n" + std::to_string(n), Incarnation(100 + n), "fake"});
    }
    return layout;
  }
  static std::vector<std::string> Plans() {
    std::vector<std::string> plans;
    for (const Collective c : CollectivesOf(Family::kCommon)) {
      plans.push_back(schedule::EncodePlan(TestPlan(c, {{1}, {0}})));
    }
    return plans;
  }
  schedule::PrepareReply Prepare(uint64_t epoch, uint64_t started = 0) { return Prepare(epoch, Plans(), started); }
  schedule::PrepareReply Prepare(uint64_t epoch, std::vector<std::string> plans, uint64_t started = 0) {
    const auto verified = VerifiedPlans::Verify(std::move(plans), members_.shared_layout(), Incarnation(100));
    return epochs_.Prepare(EpochId(epoch), verified, CallSeq(started), kStart);
  }
  absl::Status Commit(uint64_t epoch, uint64_t first_call, uint64_t started = 0) {
    return epochs_.Commit(EpochId(epoch), CallSeq(first_call), CallSeq(started), {{NodeIndex(1), 9000}});
  }
  // A call of this number begins, and ends at once, as if nothing were to be done for it.
  void Run(uint64_t sequence) {
    EpochPort& port = epochs_.PortFor(CallSeq(sequence));
    CallRecord* const call = port.Begin(CallSeq(sequence), {Rank(0), {}}, kStart);
    call->Post(0, CallPost{});
    port.RankNotified(call, 0, kStart, false);
    call->node_done = true;
    EXPECT_TRUE(port.FinishIfDone(call, kStart));
  }

  const absl::Time kStart = absl::FromUnixSeconds(100);
  emu::FakeTransport transport_;
  CountingLink link_;
  emu::RecordingControlSink control_;
  emu::Engine engine_{&transport_, &control_, {.incarnation = Incarnation(100)}};
  ReadyTeams ready_;
  ReadyTeams::Entry entry_{&ready_, nullptr};
  TeamMembers members_{IndexLayout(Layout()), NodeIndex(0)};
  TeamEdges edges_{&link_, &members_};
  EpochSwitch epochs_{{.engine = &engine_, .members = &members_, .edges = &edges_, .ready = &entry_}};
};

TEST_F(EpochSwitchTest, AnEpochIsReadyOnceItIsCommitted) {
  EXPECT_FALSE(epochs_.ready());
  const schedule::PrepareReply reply = Prepare(1);
  EXPECT_TRUE(reply.accepted);
  ASSERT_EQ(reply.incoming.size(), 1u);
  EXPECT_EQ(reply.incoming[0].neighbor, NodeIndex(1));
  EXPECT_EQ(epochs_.prepared_epoch(), EpochId(1));
  EXPECT_EQ(Prepare(1).incoming.at(0).label, reply.incoming[0].label);  // repeated
  EXPECT_TRUE(Commit(1, 0).ok());
  EXPECT_TRUE(epochs_.ready());
  EXPECT_EQ(epochs_.epoch(), EpochId(1));
  EXPECT_EQ(epochs_.prepared_epoch(), EpochId(0));
  EXPECT_EQ(link_.users, 1);
  EXPECT_EQ(*epochs_.EncodedPlans(), Plans());
  EXPECT_TRUE(Commit(1, 0).ok());  // repeated
  EXPECT_EQ(link_.users, 1);
  epochs_.CheckInvariants();
}

TEST_F(EpochSwitchTest, PlansThatCannotBeReadOrDoNotFitAreRefused) {
  EXPECT_FALSE(Prepare(1, {"garbage"}).accepted);
  EXPECT_FALSE(Prepare(0, {"garbage"}).accepted);
  EXPECT_FALSE(Prepare(1, std::vector<std::string>()).accepted);
  EXPECT_EQ(epochs_.prepared_epoch(), EpochId(0));
}

TEST_F(EpochSwitchTest, WhatIsNotPreparedIsNotCommitted) {
  EXPECT_THAT(Commit(1, 0), FailsWith(absl::StatusCode::kFailedPrecondition, "epoch=1", "prepared=0"));
  Prepare(2);
  EXPECT_THAT(Commit(1, 0), FailsWith(absl::StatusCode::kFailedPrecondition, "epoch=1", "prepared=2"));
  EXPECT_FALSE(epochs_.Abort(EpochId(1)));
  EXPECT_TRUE(epochs_.Abort(EpochId(2)));
  EXPECT_FALSE(epochs_.Abort(EpochId(2)));
  EXPECT_THAT(Commit(2, 0), FailsWith(absl::StatusCode::kFailedPrecondition, "prepared=0"));
}

TEST_F(EpochSwitchTest, ALabelOfNoNeighborIsRefusedAndTheEdgesAreReleased) {
  Prepare(1);
  EXPECT_THAT(epochs_.Commit(EpochId(1), CallSeq(0), CallSeq(0), {{NodeIndex(0), 9000}}),
              FailsWith(absl::StatusCode::kInvalidArgument, "node=0"));
  EXPECT_EQ(link_.users, 0);
  EXPECT_FALSE(epochs_.ready());
}

TEST_F(EpochSwitchTest, AnEpochDoesNotBeginWithACallThatHasBegun) {
  Prepare(1);
  ASSERT_TRUE(Commit(1, 0).ok());
  Prepare(2, 3);
  EXPECT_THAT(Commit(2, 2, 3), FailsWith(absl::StatusCode::kInvalidArgument, "call=2", "limit=3"));
  EXPECT_TRUE(Commit(2, 3, 3).ok());
  Prepare(3, 0);
  EXPECT_THAT(Commit(3, 2, 0), FailsWith(absl::StatusCode::kInvalidArgument, "call=2", "limit=3"));
}

TEST_F(EpochSwitchTest, TheFirstEpochBeginsWithTheFirstCall) {
  Prepare(1);
  EXPECT_THAT(Commit(1, 5), FailsWith(absl::StatusCode::kInvalidArgument, "call=5", "limit=0"));
  EXPECT_TRUE(Commit(1, 0).ok());
}

TEST_F(EpochSwitchTest, APreparedEpochHoldsCallsBackBeyondTheWindow) {
  Prepare(1);
  ASSERT_TRUE(Commit(1, 0).ok());
  EXPECT_FALSE(epochs_.Holds(CallSeq(100)));
  Prepare(2, 5);
  EXPECT_FALSE(epochs_.Holds(CallSeq(5 + kWindow - 1)));
  EXPECT_TRUE(epochs_.Holds(CallSeq(5 + kWindow)));
  Prepare(2, 6);  // repeated: the first answer counts
  EXPECT_TRUE(epochs_.Holds(CallSeq(5 + kWindow)));
  epochs_.Abort(EpochId(2));
  EXPECT_FALSE(epochs_.Holds(CallSeq(5 + kWindow)));
}

TEST_F(EpochSwitchTest, AnEpochEndsWithItsLastCallAndItsCallsAreRemembered) {
  Prepare(1);
  ASSERT_TRUE(Commit(1, 0).ok());
  Run(0);
  Prepare(2, 1);
  ASSERT_TRUE(Commit(2, 2, 1).ok());
  EXPECT_EQ(epochs_.ports().size(), 2u);
  EXPECT_EQ(epochs_.PortFor(CallSeq(1)).epoch(), EpochId(1));
  EXPECT_EQ(epochs_.PortFor(CallSeq(2)).epoch(), EpochId(2));
  EXPECT_EQ(link_.users, 2);
  epochs_.PortFor(CallSeq(1)).LongCallBegun();
  Run(1);
  epochs_.Retire();
  EXPECT_EQ(epochs_.ports().size(), 2u);  // for the rest of the long call
  epochs_.PortFor(CallSeq(1)).LongCallOver();
  epochs_.Retire();
  ASSERT_EQ(epochs_.ports().size(), 1u);
  EXPECT_EQ(link_.users, 1);
  ASSERT_NE(epochs_.Find(CallSeq(1)), nullptr);
  EXPECT_EQ(epochs_.Find(CallSeq(2)), nullptr);
  Run(2);
  EXPECT_NE(epochs_.Find(CallSeq(2)), nullptr);
  epochs_.CheckInvariants();
  epochs_.Clear();
  EXPECT_FALSE(epochs_.ready());
  EXPECT_EQ(epochs_.Find(CallSeq(1)), nullptr);
  EXPECT_EQ(link_.users, 0);
}

TEST_F(EpochSwitchTest, NeighborsAreAskedOnceInAWhile) {
  EXPECT_FALSE(epochs_.TakeNodesToAsk(kStart + absl::Hours(1), absl::Seconds(2)));
  Prepare(1);
  EXPECT_FALSE(epochs_.TakeNodesToAsk(kStart + absl::Seconds(1), absl::Seconds(2)));
  EXPECT_EQ(epochs_.TakeNodesToAsk(kStart + absl::Seconds(2), absl::Seconds(2)), std::vector<uint32_t>{1});
  EXPECT_FALSE(epochs_.TakeNodesToAsk(kStart + absl::Seconds(3), absl::Seconds(2)));
}

TEST_F(EpochSwitchTest, ANeighborHearsItsLabelAndTheDecision) {
  EXPECT_EQ(epochs_.Answer({TeamId(7), EpochId(1)}, NodeIndex(1)).label, 0u);
  const uint32_t label = Prepare(1).incoming[0].label;
  EpochAnswerMessage answer = epochs_.Answer({TeamId(7), EpochId(1)}, NodeIndex(1));
  EXPECT_EQ(answer.label, label);
  EXPECT_FALSE(answer.committed);
  EXPECT_EQ(epochs_.Answer({TeamId(7), EpochId(2)}, NodeIndex(1)).label, 0u);
  EXPECT_EQ(epochs_.Answer({TeamId(7), EpochId(0)}, NodeIndex(1)).label, 0u);
  ASSERT_TRUE(Commit(1, 0).ok());
  answer = epochs_.Answer({TeamId(7), EpochId(1)}, NodeIndex(1));
  EXPECT_EQ(answer.label, label);
  EXPECT_TRUE(answer.committed);
  EXPECT_EQ(answer.first_call, CallSeq(0));
  EXPECT_EQ(epochs_.Answer({TeamId(7), EpochId(1)}, NodeIndex(0)).label, 0u);
}

TEST_F(EpochSwitchTest, ANeighborsWordDecidesOnceAllLabelsAreKnown) {
  const EpochAnswerMessage decision{
      .team = TeamId(7), .epoch = EpochId(1), .committed = true, .first_call = CallSeq(5)};
  EpochAnswerMessage label{.team = TeamId(7), .epoch = EpochId(1), .label = 9000};
  EXPECT_FALSE(epochs_.OnAnswer(decision, NodeIndex(1)));  // of nothing that is prepared
  Prepare(1);
  EXPECT_FALSE(epochs_.OnAnswer(decision, NodeIndex(1)));
  label.epoch = EpochId(2);
  EXPECT_FALSE(epochs_.OnAnswer(label, NodeIndex(1)));
  label.epoch = EpochId(1);
  EXPECT_FALSE(epochs_.OnAnswer(label, NodeIndex(0)));  // has no edge
  EXPECT_EQ(epochs_.OnAnswer(label, NodeIndex(1)), CallSeq(5));
}

class LeaversTest : public EpochSwitchTest {
 protected:
  LeaversTest() {
    Prepare(1);
    EXPECT_TRUE(Commit(1, 0).ok());
  }
  void Left(uint64_t calls, bool all) {
    members_.OnLeft(NodeIndex(1), {.team = TeamId(7), .calls = CallSeq(calls), .rank = Rank(1), .all = all});
  }

  Leavers leavers_{&members_, &epochs_};
};

TEST_F(LeaversTest, ACallAfterARanksLastOneCannotEnd) {
  EXPECT_FALSE(leavers_.Check(Rank(0), CallSeq(9)));
  Left(3, false);
  EXPECT_FALSE(leavers_.Check(Rank(0), CallSeq(3)));
  const auto why = leavers_.Check(Rank(0), CallSeq(4));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->failure, schedule::Failure::kMemberLost);
  EXPECT_EQ(why->cause, FailureCause::kMemberLeft);
  EXPECT_EQ(why->node, "n1");
  EXPECT_EQ(why->rank, Rank(1));
  EXPECT_THAT(why->text, Names("after 3 calls", "call 3", "rank 0 on node n0"));
}

TEST_F(LeaversTest, ArgumentsThatDifferAreToldOnceTheOtherNodeCannotSayThemAnyMore) {
  leavers_.OnMismatch(NodeIndex(1), CallSeq(0));
  Left(1, true);
  EXPECT_FALSE(leavers_.Check(Rank(0), CallSeq(1)));  // not begun here
  Run(0);
  const auto why = leavers_.Check(Rank(0), CallSeq(1));
  ASSERT_TRUE(why);
  EXPECT_EQ(why->failure, schedule::Failure::kMismatch);
  EXPECT_THAT(why->text, Names("call 0", "rank 0 on node n0", "rank 1 on node n1"));
  Left(1, false);
  EXPECT_FALSE(leavers_.Check(Rank(0), CallSeq(1)));
}

}  // namespace
}  // namespace copse::daemon
