// SPDX-License-Identifier: Apache-2.0
//
// Derived teams: how they form on demand, and what they share with their teams.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "base/version.h"
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

class DerivedTeamTest : public TeamTest {
 protected:
  // Sends the request of the daemon of `rank` when that rank is the first there to call such a collective.
  void Ask(SessionId session, uint32_t rank, uint64_t request, const schedule::TeamLayout& team,
           Family family = Family::kRooted, uint64_t failed = 0, const FailureReport& last_failure = {}) {
    schedule::JoinTeam join{.request = request, .identity = team.identity, .parent = team.id, .rank = Rank{rank}};
    join.identity.family = family;
    join.identity.nonce = failed;
    join.size = team.shape.size();
    join.last_failure = last_failure;
    coordinator->OnMessage(session, join);
  }
  static schedule::PrepareReply Refuse(const schedule::Prepare& prepare, const std::string& text) {
    schedule::PrepareReply reply{.team = prepare.layout.id, .epoch = prepare.epoch};
    reply.why = {Failure::kNoResource, text};
    return reply;
  }
  void Commit(const schedule::Prepare& prepare) {
    AcceptBoth(prepare);
    for (const SessionId session : {1, 2}) {
      EXPECT_EQ(sink.Take<schedule::Commit>(session).first_call, CallSeq{0});
      coordinator->OnMessage(session, schedule::CommitReply{prepare.layout.id, prepare.epoch});
    }
  }
  schedule::Prepare FormDerivedTeam(const schedule::TeamLayout& team, Family family = Family::kRooted) {
    Ask(1, 0, ++request, team, family);
    const auto prepare = TakeBoth<schedule::Prepare>();
    Commit(prepare);
    return prepare;
  }
};

TEST_F(DerivedTeamTest, FormsAtAllNodesWhenTheFirstAsks) {
  Ask(2, 1, 70, team.layout);
  const auto p1 = sink.Take<schedule::Prepare>(1);
  const auto p2 = sink.Take<schedule::Prepare>(2);
  EXPECT_EQ(p1.layout.parent, team.layout.id);
  EXPECT_EQ(p1.layout.identity.family, Family::kRooted);
  EXPECT_EQ(p1.layout.identity.name, "t");
  EXPECT_EQ(p1.layout.nodes, team.layout.nodes);
  EXPECT_EQ(p1.layout.shape, team.layout.shape);
  EXPECT_EQ(p1.epoch, EpochId{1});
  EXPECT_TRUE(p1.requests.empty());
  EXPECT_EQ(p2.requests.size(), 1u);
  // The other daemon requests it meanwhile, and again after the decision.
  Ask(1, 0, 71, team.layout);
  EXPECT_TRUE(Silent());
  Commit(p1);
  Ask(1, 0, 72, team.layout);
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(p1.layout.id), "ready");
  EXPECT_EQ(coordinator->view().FindNode("n1")->ranks, 1u);  // no rank counts twice
  EXPECT_TRUE(store.Load()->teams.contains(p1.layout.id));
  // Another collective class has another derived team.
  EXPECT_NE(FormDerivedTeam(team.layout, Family::kAlltoall).layout.id, p1.layout.id);
}

TEST_F(DerivedTeamTest, SubTeamsHaveTheirOwn) {
  const auto sub = FormTeam("s", team.layout.id.value());
  EXPECT_EQ(FormDerivedTeam(team.layout).layout.parent, team.layout.id);
  EXPECT_EQ(FormDerivedTeam(sub.layout).layout.parent, sub.layout.id);
}

TEST_F(DerivedTeamTest, FailedAttemptFailsTheSameCallEverywhere) {
  Ask(1, 0, 70, team.layout);
  const auto p1 = sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(p1.layout.identity.nonce, 0u);
  sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(2, Refuse(p1, "no room"));
  const auto abort = sink.Take<schedule::Abort>(1);
  EXPECT_EQ(abort.requests, (std::vector<uint64_t>{70}));
  EXPECT_THAT(Brief(abort.why), Pair(Failure::kNoResource, Names("node n2", "no room")));
  EXPECT_TRUE(sink.Take<schedule::Abort>(2).requests.empty());
  // The rank of n2 reaches the same call later: it fails too, for the same reason.
  Ask(2, 1, 80, team.layout);
  const auto late = sink.Take<schedule::Abort>(2);
  EXPECT_EQ(late.requests, (std::vector<uint64_t>{80}));
  EXPECT_EQ(late.why, abort.why);
  // The next call starts the next attempt.
  Ask(2, 1, 81, team.layout, Family::kRooted, 1);
  const auto again = sink.Take<schedule::Prepare>(2);
  EXPECT_EQ(again.layout.identity.nonce, 1u);
  EXPECT_EQ(again.last_failure, abort.why);
  EXPECT_EQ(sink.Take<schedule::Prepare>(1).last_failure, abort.why);
  Commit(again);
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(DerivedTeamTest, PlansThatCannotBeMadeFailTheAttempt) {
  plan_maker.error = absl::InvalidArgumentError("the rule says flat");
  Ask(1, 0, 70, team.layout);
  EXPECT_EQ(Brief(sink.Take<schedule::Abort>(1).why), Brief({Failure::kInvalidArgument, "the rule says flat"}));
  plan_maker.error = absl::OkStatus();
  Ask(2, 1, 80, team.layout);
  EXPECT_EQ(sink.Take<schedule::Abort>(2).why.text, "the rule says flat");
}

TEST_F(DerivedTeamTest, BelievesDaemonsThatCountedMoreAttempts) {
  Restart();  // the planner forgets the attempt
  RegisterTwo({Running(team, 1)});
  const FailureReport drains{Failure::kNoResource, "node n1 is draining", FailureCause::kNodeDraining, "n1"};
  Ask(1, 0, 70, team.layout, Family::kSpread, 3, drains);
  EXPECT_EQ(sink.Take<schedule::Prepare>(1).layout.identity.nonce, 3u);
  EXPECT_EQ(sink.Take<schedule::Prepare>(2).last_failure, drains);
}

TEST_F(DerivedTeamTest, WaitsForANodeThatIsAway) {
  coordinator->OnDisconnected(2);
  Ask(1, 0, 70, team.layout);
  EXPECT_TRUE(Silent());
  Advance(absl::Seconds(1));
  EXPECT_TRUE(Silent());
  Register(3, "n2", 1, {Running(team, 1)});
  Advance(absl::Seconds(1));
  EXPECT_EQ(sink.Take<schedule::Prepare>(3).layout.parent, team.layout.id);
  sink.Take<schedule::Prepare>(1);
}

TEST_F(DerivedTeamTest, WaitsAsLongAsItTakesAndEndsWithANodeThatIsRemoved) {
  coordinator->OnDisconnected(2);
  Ask(1, 0, 70, team.layout);
  for (int minute = 0; minute < 30; ++minute) Advance(absl::Minutes(1));
  EXPECT_TRUE(Silent());
  ASSERT_TRUE(coordinator->RemoveNode("n2").ok());
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).team, team.layout.id);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).requests, (std::vector<uint64_t>{70}));
}

TEST_F(DerivedTeamTest, LostStreamDuringFormationIsNoFailure) {
  Ask(1, 0, 70, team.layout);
  const auto p1 = TakeBoth<schedule::Prepare>();
  coordinator->OnDisconnected(2);
  const auto abort = sink.Take<schedule::Abort>(1);
  EXPECT_EQ(abort.team, p1.layout.id);
  EXPECT_TRUE(abort.requests.empty());  // so the daemon requests it again
  auto forming = Running(p1, 0, 1);
  Register(3, "n2", 1, {Running(team, 1), forming});
  EXPECT_EQ(sink.Take<schedule::Abort>(3).team, p1.layout.id);
  Ask(1, 0, 70, team.layout);
  const auto again = sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(again.layout.identity.nonce, 0u);
  EXPECT_NE(again.layout.id, p1.layout.id);
}

// The daemon that requested the team has no Prepare, at whose Abort it would request it again.
TEST_F(DerivedTeamTest, LostStreamWhilePlansAreMadeKeepsTheRequest) {
  plan_maker.later = true;
  Ask(1, 0, 70, team.layout);
  coordinator->OnDisconnected(2);
  sink.Take<schedule::Abort>(1);
  plan_maker.Finish();
  Register(3, "n2", 1, {Running(team, 1)});
  Advance(absl::Seconds(1));
  plan_maker.Finish();
  const auto prepare = sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(prepare.layout.identity.nonce, 0u);
  EXPECT_EQ(prepare.requests, (std::vector<std::pair<uint64_t, Rank>>{{70, Rank{0}}}));
  sink.Take<schedule::Prepare>(3);
}

TEST_F(DerivedTeamTest, DecisionSurvivesThePlanner) {
  Ask(1, 0, 70, team.layout);
  const auto p1 = sink.Take<schedule::Prepare>(1);
  AcceptBoth(p1);
  Restart();  // before any daemon has received it
  Register(1, "n1", 1, {Running(team, 1), Running(p1, 0, 1)});
  EXPECT_EQ(sink.Take<schedule::Commit>(1).team, p1.layout.id);
  Register(2, "n2", 1, {Running(team, 1), Running(p1, 0, 1)});
  EXPECT_EQ(sink.Take<schedule::Commit>(2).team, p1.layout.id);
  Ask(2, 1, 90, team.layout);  // the derived team exists
  EXPECT_TRUE(Silent());
}

TEST_F(DerivedTeamTest, BreakTogether) {
  const auto derived = FormDerivedTeam(team.layout);
  coordinator->OnMessage(2, schedule::TeamBroken{derived.layout.id, {Failure::kMismatch, "arguments differ"}});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).team, derived.layout.id);
  const auto broken = sink.Take<schedule::BreakTeam>(1);
  EXPECT_EQ(broken.team, team.layout.id);
  EXPECT_EQ(Brief(broken.why), Brief({Failure::kMismatch, "arguments differ"}));
  EXPECT_TRUE(Silent());
  const auto second = FormTeam("second");
  const auto of_second = FormDerivedTeam(second.layout);
  EXPECT_TRUE(coordinator->BreakTeam(second.layout.id, "").ok());
  EXPECT_EQ(State(of_second.layout.id), "broken");
  sink.sent.clear();
  Ask(1, 0, 70, second.layout, Family::kSpread);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.failure, Failure::kMemberLost);
}

TEST_F(DerivedTeamTest, EndTogether) {
  const auto derived = FormDerivedTeam(team.layout);
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  EXPECT_EQ(State(derived.layout.id), "ready");
  coordinator->OnMessage(2, schedule::LeaveTeam{team.layout.id});
  EXPECT_TRUE(coordinator->view().Teams().empty());
  EXPECT_TRUE(store.Load()->teams.empty());
  coordinator->OnMessage(2, schedule::LeaveTeam{derived.layout.id});  // the daemon leaves it as well
}

TEST_F(DerivedTeamTest, NodeThatHasLeftFailsTheAttempt) {
  coordinator->OnMessage(2, schedule::LeaveTeam{team.layout.id});
  Ask(1, 0, 70, team.layout);
  EXPECT_THAT(Brief(sink.Take<schedule::Abort>(1).why), Pair(Failure::kMemberLost, Names("node n2")));
}

TEST_F(DerivedTeamTest, NodeThatLeavesDuringTheAttemptFailsItAlike) {
  Ask(1, 0, 70, team.layout);
  TakeBoth<schedule::Prepare>();
  coordinator->OnMessage(2, schedule::LeaveTeam{team.layout.id});
  EXPECT_THAT(Brief(sink.Take<schedule::Abort>(1).why), Pair(Failure::kMemberLost, Names("node n2")));
}

TEST_F(DerivedTeamTest, DrainingNodesServeTheTeamsTheyHave) {
  EXPECT_TRUE(SetDraining("n2", true).ok());
  sink.Take<schedule::Drain>(2);
  FormDerivedTeam(team.layout);
}

TEST_F(DerivedTeamTest, DaemonsThatKnowNoneAreNamed) {
  schedule::NodeAnnouncement old = Announce("n3", 1);
  old.features.clear();
  RegisterAs(3, {old, {}});
  Join(1, 0, 2, ++request, "mixed");
  Join(3, 1, 2, ++request, "mixed");
  const auto mixed = sink.Take<schedule::Prepare>(1);
  coordinator->OnMessage(1, Accept(mixed, 0));
  coordinator->OnMessage(3, Accept(mixed, 1));
  sink.sent.clear();
  Ask(1, 0, 70, mixed.layout);
  EXPECT_THAT(Brief(sink.Take<schedule::Abort>(1).why), Pair(Failure::kVersion, Names("node n3")));
}

TEST_F(DerivedTeamTest, StrangersAreRefused) {
  const auto refused = [&](SessionId session, uint32_t rank, const schedule::TeamLayout& layout) {
    Ask(session, rank, ++request, layout);
    return sink.Take<schedule::Abort>(session).why.text;
  };
  schedule::TeamLayout other = team.layout;
  other.id = TeamId{99};
  EXPECT_THAT(refused(1, 0, other), Names("team 99"));
  other = team.layout;
  other.identity.uid = 7;
  EXPECT_THAT(refused(1, 0, other), Names("team 1000001", "'t' (rooted)", "user 7"));
  EXPECT_THAT(refused(1, 1, team.layout), Names("team 1000001", "rank=1", "size=2", "node n1"));
  Register(3, "n3");
  EXPECT_THAT(refused(3, 0, team.layout), Names("team 1000001", "node n3"));
  const auto derived = FormDerivedTeam(team.layout);
  EXPECT_THAT(refused(1, 0, derived.layout), Names("team 1000002", "'t' (rooted)", "user 1000"));
}

TEST_F(DerivedTeamTest, EpochSwitchesAreItsOwn) {
  const auto derived = FormDerivedTeam(team.layout);
  absl::Status replanned = absl::UnknownError("not yet");
  coordinator->ReplanTeam(derived.layout.id, {}, [&](const absl::Status& status) { replanned = status; });
  const auto prepare = sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(prepare.layout.id, derived.layout.id);
  EXPECT_EQ(prepare.epoch, EpochId{2});
  sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(1, Refuse(prepare, "no room"));
  EXPECT_EQ(replanned.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(State(derived.layout.id), "ready");
  EXPECT_EQ(coordinator->view().FindTeam(team.layout.id)->epoch, EpochId{1});
  sink.sent.clear();
  // The derived team is found by its team and a collective of its class.
  const PlanOptions gathers{.collective = Collective::kGather};
  coordinator->ReplanTeam(team.layout.id, gathers, [](const absl::Status&) {});
  EXPECT_EQ(sink.Take<schedule::Prepare>(1).layout.id, derived.layout.id);
  const PlanOptions scans{.collective = Collective::kScan};
  coordinator->ReplanTeam(team.layout.id, scans, [&](const absl::Status& status) { replanned = status; });
  EXPECT_THAT(replanned, FailsWith(absl::StatusCode::kFailedPrecondition, "team 1000001", "scan", "spread"));
}

}  // namespace
}  // namespace copse::coordinator
