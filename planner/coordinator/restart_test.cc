// SPDX-License-Identifier: Apache-2.0
//
// How a restarted planner combines its store with the reports of daemons that come back.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"
#include "schedule/plan.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using testing::FailsWith;
using testing::Names;
using ::testing::Pair;

TEST_F(TeamTest, RestartKeepsTeamsAndIds) {
  ASSERT_TRUE(SetDraining("n1", true, "disk").ok());
  Restart();
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_FALSE(coordinator->view().FindNode("n1")->connected);
  EXPECT_EQ(coordinator->view().FindNode("n1")->state, "away");
  EXPECT_TRUE(Register(1, "n1", 1, {Running(team, 1)}).draining);
  EXPECT_EQ(coordinator->view().FindNode("n1")->state, "draining");
  EXPECT_EQ(coordinator->view().FindNode("n1")->why, "disk");
  EXPECT_TRUE(sink.Take<schedule::Drain>(1).on);
  ASSERT_TRUE(SetDraining("n1", false).ok());
  EXPECT_EQ(coordinator->view().FindNode("n1")->why, "");
  EXPECT_FALSE(sink.Take<schedule::Drain>(1).on);
  Register(2, "n2", 1, {Running(team, 1)});
  const auto next = FormTeam("u");
  EXPECT_GT(next.layout.id, team.layout.id);
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(TwoNodesTest, RestartBetweenRecordAndCommitSendsCommitOnReturn) {
  const auto p1 = StartTeam();
  AcceptBoth(p1);
  Restart();  // the Commits are lost
  Register(1, "n1", 1, {Running(p1, 0, 1)});
  const auto commit = sink.Take<schedule::Commit>(1);
  EXPECT_EQ(commit.epoch, EpochId{1});
  ASSERT_EQ(commit.outgoing.size(), 1u);
  EXPECT_EQ(commit.outgoing[0].label, 110u);
  Register(2, "n2", 1, {Running(p1, 0, 1)});
  sink.Take<schedule::Commit>(2);
}

TEST_F(TeamTest, ATeamThatBrokeBeforeItsCommitCameIsReportedBroken) {
  Restart();
  Register(1, "n1", 1, {Running(team, 1)});
  auto broken = Running(team, 0);
  broken.broken = true;
  Register(2, "n2", 1, {broken});
  const auto why = sink.Take<schedule::BreakTeam>(1).why;
  EXPECT_EQ(why.failure, Failure::kMemberLost);
  EXPECT_EQ(why.node, "n2");
}

TEST_F(TwoNodesTest, RestartBeforeRecordAborts) {
  const auto p1 = StartTeam();
  coordinator->OnMessage(1, Accept(p1, 0));
  Restart();
  Register(1, "n1", 1, {Running(p1, 0, 1)});
  EXPECT_THAT(sink.Take<schedule::Abort>(1).why.text, Names(absl::StrCat("team ", p1.layout.id.value())));
}

TEST_F(TeamTest, TeamsOfALostStoreAreAdopted) {
  LoseStore();
  Register(1, "n1", 1, {Running(team, 1)});
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_EQ(store.Load()->teams.size(), 1u);
  Register(3, "n3");
  Join(3, 0, 1, 1);
  Advance(absl::Seconds(6));
  const auto other = sink.Take<schedule::Prepare>(3);
  EXPECT_GT(other.layout.id, team.layout.id);
  EXPECT_FALSE(coordinator->view().FindNode("n2")->connected);
  // Teams that do not fit are left alone: one with another identity, and one that the node is no member of.
  schedule::Prepare strange = other;
  strange.layout.identity.name = "another";
  const auto stranger = Running(strange, 1);
  EXPECT_TRUE(Register(2, "n2", 1, {Running(team, 1), stranger}).forgotten.empty());
  EXPECT_EQ(coordinator->view().FindTeam(other.layout.id)->layout.identity.name, "t");
  schedule::Prepare renumbered = team;
  renumbered.layout.id = TeamId{5000};
  const auto nonsense = Running(renumbered, 1);
  EXPECT_TRUE(Register(4, "n4", 1, {nonsense}).forgotten.empty());
  EXPECT_FALSE(coordinator->view().FindTeam(TeamId{5000}).ok());
  Advance(absl::Seconds(60));
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(TwoNodesTest, AMemberWaitsAnHourForDaemonsThatMayHaveItsEpoch) {
  Register(3, "n3");
  for (const uint32_t node : {0, 1, 2}) Join(node + 1, node, 3, node + 1);
  const auto prepare = TakeBoth<schedule::Prepare>();
  for (const uint32_t node : {0, 1, 2}) coordinator->OnMessage(node + 1, Accept(prepare, node));
  LoseStore();  // the Commits are lost for n2, and n3 does not come back
  Register(1, "n1", 1, {Running(prepare, 1)});
  Register(2, "n2", 1, {Running(prepare, 0, 1)});
  coordinator->OnMessage(1, schedule::LeaveTeam{prepare.layout.id});
  Advance(options.forget_records - absl::Minutes(1));
  EXPECT_TRUE(Silent()) << "n3 may tell n2";
  EXPECT_EQ(State(prepare.layout.id), "ready");
  Advance(options.forget_records / 2);
  EXPECT_THAT(Brief(sink.Take<schedule::BreakTeam>(2).why), Pair(Failure::kMemberLost, Names("node n2", "epoch 1")));
}

// A planner that has started again, and whose store names the content of a team, whose plans it does not have.
class LackingPlansTest : public TeamTest {
 protected:
  LackingPlansTest() {
    EXPECT_TRUE(store.Load()->teams.at(id).plans.empty());
    Restart();
  }

  // Returns a daemon's report of the team, whose plans have this name.
  schedule::RunningTeam Bringing(const std::string& named) const {
    schedule::RunningTeam running = Running(team, 1);
    running.content = named;
    return running;
  }
  TeamInfo Info() const { return coordinator->view().FindTeam(id).value(); }
  std::optional<ListedPlan> Listed() const {
    PlanCursor first;
    return coordinator->view().PlanAfter(&first, [](const schedule::TeamLayout&) { return true; });
  }

  const TeamId id = team.layout.id;
  const PlanId plan = schedule::PlanIdIn(team.plans[0]);
  const std::string content = ContentOf(team.plans);
};

TEST_F(LackingPlansTest, AreMarkedAndExplainedAsSuch) {
  EXPECT_EQ(Info().state, "ready");
  EXPECT_FALSE(Info().why.empty());
  ASSERT_TRUE(Listed().has_value());
  EXPECT_EQ(Listed()->id, plan);
  EXPECT_EQ(Listed()->layout->id, id);
  EXPECT_EQ(Listed()->encoded, nullptr);
  const std::string names[] = {absl::StrCat("plan ", plan.value()), absl::StrCat("team ", id.value())};
  EXPECT_THAT(Explained(plan), FailsWith(absl::StatusCode::kFailedPrecondition, names[0], names[1]));
  EXPECT_THAT(Explained(PlanId{77}), FailsWith(absl::StatusCode::kNotFound, "plan 77"));
  EXPECT_TRUE(coordinator->view().PlansOfTeam(id).empty());
}

TEST_F(LackingPlansTest, TheFirstDaemonBringsThem) {
  Register(1, "n1", 1, {Bringing(content)});
  EXPECT_EQ(Info().why, "");
  EXPECT_NE(Listed()->encoded, nullptr);
  EXPECT_TRUE(Explained(plan).ok());
}

TEST_F(LackingPlansTest, OthersThanTheRecordedOnesAreVerifiedFirst) {
  const std::vector<std::string> plans = team.plans;
  team.plans = {"no plan"};
  Register(1, "n1", 1, {Bringing("another")});
  Advance(absl::Seconds(1));
  EXPECT_EQ(State(id), "ready");
  EXPECT_THAT(Explained(plan), FailsWith(absl::StatusCode::kFailedPrecondition));
  team.plans = plans;
  Register(2, "n2", 1, {Bringing("")});
  EXPECT_FALSE(Explained(plan).ok()) << "not verified yet";
  Advance(absl::Seconds(1));
  EXPECT_TRUE(Explained(plan).ok());
}

TEST_F(LackingPlansTest, TheRecordedOnesReplaceThoseThatWaitToBeVerified) {
  const schedule::RunningTeam good = Bringing(content);
  team.plans = {"no plan"};
  Register(1, "n1", 1, {Bringing("")});
  Register(2, "n2", 1, {good});
  EXPECT_TRUE(Explained(plan).ok());
  Advance(absl::Seconds(1));
  EXPECT_TRUE(Explained(plan).ok());
}

TEST_F(LackingPlansTest, PlansWithOtherIdsAreVerifiedFirst) {
  schedule::SetPlanIdIn(PlanId{999}, &team.plans[0]);
  Register(1, "n1", 1, {Bringing(content)});
  EXPECT_FALSE(Explained(PlanId{999}).ok());
  Advance(absl::Seconds(1));
  EXPECT_TRUE(Explained(PlanId{999}).ok());
}

TEST_F(LackingPlansTest, TheStoreStillNamesThemAfterAnotherChange) {
  ASSERT_TRUE(coordinator->BreakTeam(id, "").ok());
  EXPECT_EQ(store.Load()->teams.at(id).content, content);
  EXPECT_EQ(store.Load()->teams.at(id).plan_ids.front(), plan);
}

TEST_F(LackingPlansTest, ASwitchReplacesThem) {
  RegisterTwo({Running(team, 1)});
  coordinator->ReplanTeam(id, {}, nullptr);
  const auto next = TakeBoth<schedule::Prepare>();
  AcceptBoth(next);
  TakeBoth<schedule::Commit>();
  EXPECT_EQ(store.Load()->teams.at(id).content, ContentOf(next.plans));
  EXPECT_NE(store.Load()->teams.at(id).plan_ids.front(), plan);
}

class SwitchWithoutPlansTest : public TwoNodesTest {
 protected:
  // Registers both members after a crash between the record of epoch 2 and its Commits, and has both commit it.
  void CommitAfterRestart(std::vector<schedule::Feature> features) {
    coordinator->ReplanTeam(team.layout.id, {}, nullptr);
    next = TakeBoth<schedule::Prepare>();
    AcceptBoth(next);
    Restart();
    for (const SessionId session : {1, 2}) {
      schedule::Register message{Announce(absl::StrCat("n", session), 1), {Running(team, 1, 2)}};
      for (const schedule::Feature feature : features) message.node.features.insert(feature);
      RegisterAs(session, message);
      sink.Take<schedule::Commit>(session);
    }
    for (const SessionId session : {1, 2}) {
      coordinator->OnMessage(session, schedule::CommitReply{team.layout.id, EpochId{2}});
    }
  }
  absl::StatusOr<PlanExplanation> ExplainedNext() const { return Explained(schedule::PlanIdIn(next.plans[0])); }

  const schedule::Prepare team = FormTeam();
  schedule::Prepare next;
};

TEST_F(SwitchWithoutPlansTest, AMemberThatHasCommittedIsAskedForThem) {
  CommitAfterRestart({schedule::Feature::kTeamPlans});
  EXPECT_EQ(sink.Take<schedule::PlansQuery>(1).team, team.layout.id);
  EXPECT_TRUE(Silent()) << "one is asked";
  EXPECT_THAT(ExplainedNext(), FailsWith(absl::StatusCode::kFailedPrecondition));
  coordinator->OnMessage(1, schedule::TeamPlans{team.layout.id, EpochId{1}, team.plans});
  Advance(absl::Seconds(1));
  EXPECT_THAT(ExplainedNext(), FailsWith(absl::StatusCode::kFailedPrecondition)) << "another epoch's";
  coordinator->OnMessage(1, schedule::TeamPlans{team.layout.id, EpochId{2}, next.plans});
  Advance(absl::Seconds(1));
  EXPECT_TRUE(ExplainedNext().ok());
  coordinator->OnMessage(1, schedule::TeamPlans{TeamId{77}, EpochId{2}, next.plans});
}

TEST_F(SwitchWithoutPlansTest, AnotherMemberIsAskedIfTheFirstHasLeft) {
  CommitAfterRestart({schedule::Feature::kTeamPlans});
  sink.Take<schedule::PlansQuery>(1);
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  Advance(absl::Seconds(1));
  EXPECT_EQ(sink.Take<schedule::PlansQuery>(2).team, team.layout.id);
  coordinator->OnMessage(2, schedule::TeamPlans{team.layout.id, EpochId{2}, next.plans});
  Advance(absl::Seconds(1));
  EXPECT_TRUE(ExplainedNext().ok());
  EXPECT_TRUE(Silent());
}

TEST_F(SwitchWithoutPlansTest, DaemonsOfEarlierVersionsBringThemWhenTheyRegisterAgain) {
  CommitAfterRestart({});
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(team.layout.id), "ready");
  coordinator->OnDisconnected(2);
  Register(2, "n2", 1, {Running(next, 2)});
  Advance(absl::Seconds(1));
  EXPECT_TRUE(ExplainedNext().ok());
}

TEST_F(LackingPlansTest, PlansThatWereNeverVerifiedAreNotNamed) {
  LoseStore();
  Register(1, "n1", 1, {Bringing(content)});
  EXPECT_EQ(store.Load()->teams.at(id).content, "");
  Restart();
  Register(1, "n1", 1, {Bringing(content)});
  EXPECT_FALSE(Explained(plan).ok()) << "not verified yet";
  Advance(absl::Seconds(1));
  EXPECT_TRUE(Explained(plan).ok());
}

// Nobody else knows the labels of members that have not committed.
TEST_F(TwoNodesTest, LabelsAreRecordedUntilAllHaveCommitted) {
  const auto prepare = StartTeam();
  AcceptBoth(prepare);
  const auto recorded = [&] { return store.Load()->teams.at(prepare.layout.id).outgoing.size(); };
  EXPECT_EQ(recorded(), 2u);
  coordinator->OnMessage(1, schedule::CommitReply{prepare.layout.id, EpochId{1}});
  ASSERT_TRUE(coordinator->BreakTeam(prepare.layout.id, "").ok());
  EXPECT_EQ(recorded(), 2u);
}

TEST_F(TeamTest, LabelsThatAllHaveAreNotRecordedAgain) {
  ASSERT_TRUE(coordinator->BreakTeam(team.layout.id, "").ok());
  EXPECT_TRUE(store.Load()->teams.at(team.layout.id).outgoing.empty());
}

// The planner's store becomes a copy of itself from before a switch of the team to epoch 2, in the same term.
class OldCopyTest : public TeamTest {
 protected:
  OldCopyTest() {
    const FailingStore copy = store;
    coordinator->ReplanTeam(team.layout.id, {}, nullptr);
    AcceptBoth(TakeBoth<schedule::Prepare>());
    TakeBoth<schedule::Commit>();
    EXPECT_EQ(store.Load()->teams.at(team.layout.id).epoch, EpochId{2});
    store = copy;
    Restart();
    EXPECT_EQ(store.Load()->teams.at(team.layout.id).epoch, EpochId{1});
  }
};

TEST_F(OldCopyTest, ASwitchThatItLacksIsBelieved) {
  Register(1, "n1", 1, {Running(team, 2)});
  Register(2, "n2", 1, {Running(team, 2)});
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_EQ(store.Load()->teams.at(team.layout.id).epoch, EpochId{2});
  EXPECT_GT(store.Load()->since, TermOf(team.layout.id)) << "the copy's terms are not trusted any more";
}

TEST_F(OldCopyTest, AMemberThatWaitsForTheSwitchIsToldOfIt) {
  Register(1, "n1", 1, {Running(team, 2)});
  Register(2, "n2", 1, {Running(team, 1, 2)});
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_TRUE(Silent()) << "its neighbors have the labels";
}

TEST_F(OldCopyTest, AMemberThatHasGivenUpTheSwitchBreaksTheTeam) {
  Register(2, "n2", 1, {Running(team, 1, 2)});
  EXPECT_EQ(sink.Take<schedule::Abort>(2).epoch, EpochId{2}) << "nothing shows yet that the store is a copy";
  Register(1, "n1", 1, {Running(team, 2)});
  EXPECT_THAT(sink.Take<schedule::BreakTeam>(2).why.text, Names("node n1", "epoch=2", "recorded=1"));
}

}  // namespace
}  // namespace copse::coordinator
