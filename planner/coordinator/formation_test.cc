// SPDX-License-Identifier: Apache-2.0
//
// How teams and sub-teams form, and which mistakes prevent it.
#include <string>
#include <utility>
#include <variant>
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
using schedule::FailureReport;
using ::testing::AllOf;
using testing::FailsWith;
using testing::Names;
using ::testing::Pair;

TEST_F(TwoNodesTest, FormsATeam) {
  Join(2, 0, 3, 20);  // n2 is node 0: it has rank 0
  Join(1, 1, 3, 10);
  EXPECT_EQ(coordinator->view().Teams()[0].state, "forming");
  EXPECT_EQ(coordinator->view().Teams()[0].size, 3u);
  Join(2, 2, 3, 21);
  const auto p2 = sink.Take<schedule::Prepare>(2);
  const auto p1 = sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(p2.epoch, EpochId{1});
  EXPECT_EQ(p2.layout.nodes[0].name, "n2");
  EXPECT_EQ(p2.layout.nodes[1].worker_address, "address of n1");
  EXPECT_EQ(p2.layout.shape.node_of_rank, (std::vector<NodeIndex>{NodeIndex{0}, NodeIndex{1}, NodeIndex{0}}));
  EXPECT_EQ(p2.layout.shape.node_count, 2u);
  EXPECT_EQ(p2.requests, (std::vector<std::pair<uint64_t, Rank>>{{20, Rank{0}}, {21, Rank{2}}}));
  EXPECT_EQ(p1.requests, (std::vector<std::pair<uint64_t, Rank>>{{10, Rank{1}}}));
  EXPECT_EQ(p1.plans.size(), 2u);
  EXPECT_EQ(p1.hash, schedule::PlanHash(p1.plans[0] + p1.plans[1]));
  EXPECT_EQ(State(p1.layout.id), "forming");
  coordinator->OnMessage(2, Accept(p2, 0));
  EXPECT_TRUE(Silent());
  coordinator->OnMessage(2, Accept(p2, 0));  // repeated: ignored
  EXPECT_TRUE(Silent());
  coordinator->OnMessage(1, Accept(p1, 1));
  const auto c2 = sink.Take<schedule::Commit>(2);
  const auto c1 = sink.Take<schedule::Commit>(1);
  EXPECT_EQ(c1.first_call, CallSeq{0});
  ASSERT_EQ(c1.outgoing.size(), 1u);  // n1 is node 1 and sends to node 0 with the label that node 0 issued for node 1
  EXPECT_EQ(c1.outgoing[0].neighbor, NodeIndex{0});
  EXPECT_EQ(c1.outgoing[0].label, 101u);
  EXPECT_EQ(c2.outgoing[0].label, 110u);
  EXPECT_EQ(store.Load()->teams.at(p1.layout.id).epoch, EpochId{1});
  EXPECT_EQ(State(p1.layout.id), "ready");
  EXPECT_EQ(coordinator->view().FindNode("n2")->ranks, 2u);
  const auto plans = coordinator->view().Plans();
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_NE(plans[0].plan.id, plans[1].plan.id);
  EXPECT_EQ(Explained(plans[0].plan.id)->text, "flat over 2 nodes");
  EXPECT_THAT(Explained(PlanId{99}), FailsWith(absl::StatusCode::kNotFound, "plan 99"));
}

// Turns of the planner take a moment each; what one of them has left for the next does not make it believe that it
// stood still.
TEST_F(TwoNodesTest, TeamsFormPromptlyWhileTenThousandFormationsExpire) {
  constexpr uint32_t kCount = 10'000;
  for (uint32_t i = 0; i < kCount; ++i) Join(1, 1, 65536, 100 + i, absl::StrCat("t", i));
  const absl::Duration patience = options.team_formation_timeout;
  clock.Advance(patience - absl::Milliseconds(1));
  coordinator->Tick(clock.Now());
  Join(1, 0, 2, 1, "half");
  clock.Advance(absl::Milliseconds(1));
  uint32_t turns = 0;
  while (coordinator->NextDeadline() <= clock.Now()) {
    coordinator->Tick(clock.Now());
    if (turns++ == 2) {
      const size_t before = sink.sent[1].size();
      Join(2, 1, 2, 2, "half");
      EXPECT_EQ(sink.sent[1].size(), before + 1);
      EXPECT_TRUE(std::holds_alternative<schedule::Prepare>(sink.sent[1].back()));
      sink.sent[1].pop_back();
    }
    clock.Advance(absl::Milliseconds(100));
  }
  EXPECT_GT(turns, 10u);
  EXPECT_LT(turns, 100u);
  size_t failed = 0;
  for (const schedule::ToDaemon& message : sink.sent[1]) {
    const auto& abort = std::get<schedule::Abort>(message);
    EXPECT_EQ(abort.why.cause, FailureCause::kNotFormedInTime);
    failed += abort.requests.size();
  }
  EXPECT_EQ(failed, kCount);
}

TEST_F(CoordinatorTest, OneNodeTeamNeedsNoLabels) {
  Register(1, "n1");
  Join(1, 0, 1, 1);
  const auto prepare = sink.Take<schedule::Prepare>(1);
  coordinator->OnMessage(1, Accept(prepare, 0));
  EXPECT_EQ(sink.Take<schedule::Commit>(1).outgoing.size(), 0u);
}

TEST_F(TwoNodesTest, EqualNamesOfTwoUsersAreTwoTeams) {
  Join(1, 0, 2, 10);
  schedule::JoinTeam join;
  join.request = 20;
  join.identity = {1001, "job", 0, "t"};
  join.rank = Rank{1};
  join.size = 2;
  coordinator->OnMessage(2, join);
  EXPECT_TRUE(Silent());
  ASSERT_EQ(coordinator->view().Teams().size(), 2u);
  for (const auto& team : coordinator->view().Teams()) EXPECT_EQ(team.state, "forming");
}

// The table has the error that each mistake sends to all members that joined.
TEST_F(TwoNodesTest, JoinMistakesFailAllAtOnceAndNameBoth) {
  const auto expect = [&](const auto& things, Failure failure) {
    for (const SessionId session : {1, 2}) {
      const auto abort = sink.Take<schedule::Abort>(session);
      EXPECT_THAT(Brief(abort.why), Pair(failure, AllOf(things, Names("team='t'"))));
      EXPECT_EQ(abort.epoch, EpochId{1});
      EXPECT_EQ(abort.requests.size(), 1u);
    }
    EXPECT_TRUE(Silent());
    EXPECT_TRUE(coordinator->view().Teams().empty());
  };
  Join(1, 0, 3, 10);
  Join(1, 0, 3, 10);  // repeated
  Join(2, 0, 3, 20);
  expect(Names("rank 0", "node n1", "request=10", "node n2", "request=20"), Failure::kMismatch);
  Join(1, 0, 3, 11);
  Join(2, 1, 2, 21);
  expect(Names("node n1", "request=11", "rank 0", "node n2", "request=21", "rank 1"), Failure::kMismatch);
  Join(1, 0, 3, 12);
  Join(2, 3, 3, 22);
  expect(Names("node n2", "request=22", "limit 2"), Failure::kInvalidArgument);
  Join(1, 0, 3, 13);
  Join(2, 3, 65537, 23);
  expect(Names("node n2", "request=23", "65537", "65536"), Failure::kInvalidArgument);
  Join(1, 0, 3, 14);
  Join(2, 0, 0, 24);
  expect(Names("node n2", "request=24", "65536"), Failure::kInvalidArgument);
  Join(1, 0, 3, 15);
  Join(2, 1, 3, 25);
  coordinator->OnMessage(2, schedule::CancelJoin{25, {Failure::kMemberLost, "process 7 was killed"}});
  expect(Names("rank 1", "node n2", "process 7"), Failure::kMemberLost);
  coordinator->OnMessage(2, schedule::CancelJoin{25, {}});  // no such join
  // The parent has broken, which was caused by another node.
  Join(1, 0, 3, 17);
  Join(2, 1, 3, 27);
  const FailureReport left{Failure::kMemberLost, "rank 2 left", FailureCause::kMemberLeft, "n3", Rank(2), 0};
  coordinator->OnMessage(2, schedule::CancelJoin{27, left});
  const FailureReport told = sink.Take<schedule::Abort>(1).why;
  EXPECT_EQ(told.node, "n3");
  EXPECT_EQ(told.rank, Rank(2));
  sink.Take<schedule::Abort>(2);
  EXPECT_TRUE(Silent());
  Join(1, 0, 3, 16);
  ASSERT_TRUE(SetDraining("n2", true).ok());
  sink.Take<schedule::Drain>(2);
  Join(2, 1, 3, 26);
  expect(Names("node n2"), Failure::kNoResource);
}

TEST_F(CoordinatorTest, TooManyFormationsAreRefused) {
  options.formations_max = 1;
  Restart();
  RegisterTwo();
  Join(1, 0, 2, 10, "a");
  Join(1, 0, 2, 11, "b");
  EXPECT_THAT(sink.Take<schedule::Abort>(1).why.text, Names("limit=1", "team='b'", "user 1000"));
}

TEST_F(CoordinatorTest, JoinsOfANodeThatAreTooManyAreRefused) {
  RegisterTwo();
  constexpr uint32_t kLimit = 16384;
  for (uint32_t rank = 0; rank < kLimit; ++rank) Join(1, rank, 60000, rank + 1);
  for (uint32_t request = 1; request <= kLimit; request += kLimit - 1) Join(1, request - 1, 60000, request);  // again
  EXPECT_TRUE(Silent());
  Join(1, 0, 2, kLimit + 1, "u");
  const auto why = sink.Take<schedule::Abort>(1).why;
  EXPECT_EQ(why.failure, Failure::kNoResource);
  EXPECT_EQ(why.limit, kLimit);
  EXPECT_THAT(why.text, Names("node n1", "limit=16384"));
  EXPECT_TRUE(Silent());
}

TEST_F(CoordinatorTest, TooManyRanksOfANodeAreRefused) {
  Register(1, "n1");
  for (uint32_t rank = 0; rank < 257; ++rank) Join(1, rank, 257, rank);
  const auto abort = sink.Take<schedule::Abort>(1);
  EXPECT_THAT(abort.why.text, Names("node n1", "256"));
  EXPECT_EQ(abort.requests.size(), 257u);
}

TEST_F(TwoNodesTest, JoinsOfOneMessageAreAnsweredByOne) {
  JoinAll(1, {0, 2, 4}, 6, 10);
  JoinAll(1, {0, 4}, 6, 10);  // repeated
  EXPECT_TRUE(Silent());
  JoinAll(2, {5, 1, 3}, 6, 20);
  const auto p1 = sink.Take<schedule::Prepare>(1);
  const auto p2 = sink.Take<schedule::Prepare>(2);
  EXPECT_EQ(p1.requests, (std::vector<std::pair<uint64_t, Rank>>{{10, Rank{0}}, {12, Rank{2}}, {14, Rank{4}}}));
  EXPECT_EQ(p2.requests, (std::vector<std::pair<uint64_t, Rank>>{{21, Rank{1}}, {23, Rank{3}}, {25, Rank{5}}}));
  EXPECT_TRUE(Silent());
}

TEST_F(TwoNodesTest, AMistakeInAMessageOfJoinsFailsAllByOneAnswerADaemon) {
  const auto failed = [&](const std::vector<uint64_t>& requests) {
    const auto abort = sink.Take<schedule::Abort>(1);
    EXPECT_EQ(abort.requests, requests);
    EXPECT_EQ(sink.Take<schedule::Abort>(2).requests, std::vector<uint64_t>{25}) << abort.why.text;
    EXPECT_TRUE(Silent());
    EXPECT_TRUE(coordinator->view().Teams().empty());
    return abort.why.text;
  };
  JoinAll(2, {5}, 6, 20);
  JoinAll(1, {0, 6, 1}, 6, 10);
  EXPECT_THAT(failed({10, 16, 11}), Names("rank of node n1 (request=16)", "6"));
  JoinAll(2, {5}, 6, 20);
  JoinAll(1, {0, 5, 1}, 6, 10);
  EXPECT_THAT(failed({10, 15, 11}), Names("rank 5", "(request=25)", "(request=15)"));
  JoinAll(2, {5}, 6, 20);
  JoinAll(1, {0, 1}, 7, 10);
  EXPECT_THAT(failed({10, 11}), Names("6", "7", "(request=10)"));
  JoinAll(2, {5}, 6, 20);
  EXPECT_TRUE(SetDraining("n1", true).ok());
  EXPECT_TRUE(sink.Take<schedule::Drain>(1).on);
  JoinAll(1, {0, 1}, 6, 10);
  EXPECT_THAT(failed({10, 11}), Names("node n1"));
}

TEST_F(TwoNodesTest, FormationTimesOutAndNamesMissingRanks) {
  for (const uint32_t rank : {0, 1, 3, 4, 7}) Join(1, rank, 8, rank);
  Join(2, 6, 8, 1);
  coordinator->OnDisconnected(2);  // its joins are dropped; the others stay pending
  Advance(absl::Seconds(29));
  EXPECT_TRUE(Silent());
  Advance(absl::Seconds(1));
  const auto abort = sink.Take<schedule::Abort>(1);
  EXPECT_EQ(abort.why.failure, Failure::kTimedOut);
  EXPECT_THAT(abort.why.text, Names("8 ranks", "30s", "2,5-6", "node n2", "team='t'"));
  EXPECT_EQ(abort.requests.size(), 5u);
}

TEST_F(TwoNodesTest, JoinsAreSaidAgainAfterReconnection) {
  Join(1, 0, 2, 10);
  coordinator->OnDisconnected(1);
  EXPECT_TRUE(coordinator->view().Teams().empty());
  Register(3, "n1");
  Join(3, 0, 2, 10);
  Join(2, 1, 2, 20);
  sink.Take<schedule::Prepare>(3);
  sink.Take<schedule::Prepare>(2);
}

TEST_F(TwoNodesTest, JoinThatIsSaidAgainAfterItsTeamFormedIsIgnored) {
  FormTeam();
  Join(1, 0, 2, request - 1);
  EXPECT_EQ(coordinator->view().Teams().size(), 1u);
  Join(1, 0, 2, request + 1);  // a new join
  EXPECT_EQ(coordinator->view().Teams().size(), 2u);
}

class LatePlansTest : public TwoNodesTest {
 protected:
  // All ranks have joined by requests 10 and 20, and the plans are being made.
  LatePlansTest() {
    plan_maker.later = true;
    Join(1, 0, 2, 10);
    Join(2, 1, 2, 20);
  }
};

TEST_F(LatePlansTest, MembersAreToldOnceThereArePlans) {
  EXPECT_TRUE(Silent());
  EXPECT_EQ(coordinator->view().Teams().at(0).state, "forming");
  const TeamId id = coordinator->view().Teams().at(0).layout.id;
  coordinator->OnMessage(1, schedule::PrepareReply{.team = id, .epoch = EpochId{1}, .accepted = true, .why = {}});
  coordinator->OnMessage(2, schedule::PrepareReply{.team = id, .epoch = EpochId{1}, .accepted = true, .why = {}});
  EXPECT_TRUE(Silent()) << "nothing was asked";
  Advance(options.prepare_timeout * 2);
  EXPECT_TRUE(Silent()) << "the time begins with Prepare";
  plan_maker.Finish();
  AcceptBoth(TakeBoth<schedule::Prepare>());
  TakeBoth<schedule::Commit>();
}

TEST_F(LatePlansTest, ANodeThatGoesAwayMeanwhileDelaysTheTeam) {
  coordinator->OnDisconnected(2);
  EXPECT_TRUE(sink.Take<schedule::Abort>(1).again);
  plan_maker.Finish();
  EXPECT_TRUE(Silent());
  Register(3, "n2", 1);
  Join(1, 0, 2, 11);
  Join(3, 1, 2, 20);
  plan_maker.Finish();
  sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(sink.Take<schedule::Prepare>(3).requests.at(0).first, 20u);
}

TEST_F(LatePlansTest, AJoinThatIsWithdrawnMeanwhileFailsTheTeam) {
  coordinator->OnMessage(2, schedule::CancelJoin{20, {Failure::kCanceled, "gone"}});
  for (const SessionId session : {1, 2}) EXPECT_EQ(sink.Take<schedule::Abort>(session).why.failure, Failure::kCanceled);
  plan_maker.Finish();
  EXPECT_TRUE(Silent());
  EXPECT_TRUE(coordinator->view().Teams().empty());
}

TEST_F(LatePlansTest, AnErrorReachesMembers) {
  plan_maker.error = absl::ResourceExhaustedError("plans: no room");
  plan_maker.Finish();
  EXPECT_EQ(sink.Take<schedule::Abort>(1).requests, std::vector<uint64_t>{10});
  EXPECT_EQ(sink.Take<schedule::Abort>(2).why.text, "plans: no room");
  EXPECT_TRUE(coordinator->view().Teams().empty());
}

TEST_F(TwoNodesTest, PlanMakersErrorReachesMembers) {
  plan_maker.error = absl::InvalidArgumentError("no plan");
  Join(1, 0, 2, 10);
  Join(2, 1, 2, 20);
  EXPECT_EQ(Brief(TakeBoth<schedule::Abort>().why), Brief({Failure::kInvalidArgument, "no plan"}));
  plan_maker.error = absl::ResourceExhaustedError("too big");
  Join(1, 0, 1, 10);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.failure, Failure::kNoResource);
  plan_maker.error = absl::UnimplementedError("not yet");
  Join(1, 0, 1, 10);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.failure, Failure::kNotSupported);
}

TEST_F(TwoNodesTest, RefusalAbortsForAll) {
  const auto prepare = StartTeam();
  coordinator->OnMessage(1, Accept(prepare, 0));
  schedule::PrepareReply refusal;
  refusal.team = prepare.layout.id;
  refusal.epoch = prepare.epoch;
  refusal.why = {Failure::kNoMemory, "node n2: team: 9 MiB (limit 8 MiB)"};
  coordinator->OnMessage(2, refusal);
  for (const SessionId session : {1, 2}) {
    const auto abort = sink.Take<schedule::Abort>(session);
    EXPECT_THAT(Brief(abort.why), Pair(Failure::kNoMemory, Names("node n2", "9 MiB", "limit 8")));
    EXPECT_EQ(abort.team, prepare.layout.id);
    EXPECT_EQ(abort.requests, (std::vector<uint64_t>{10 * session + 1}));
  }
  EXPECT_TRUE(store.Load()->teams.empty());
  coordinator->OnMessage(2, Accept(prepare, 1));  // for an aborted team
  EXPECT_TRUE(Silent());
}

TEST_F(TwoNodesTest, BadLabelsAbort) {
  const auto attempt = [&](std::vector<schedule::EdgeLabel> labels) {
    const auto prepare = StartTeam();
    schedule::PrepareReply reply = Accept(prepare, 0);
    reply.incoming = std::move(labels);
    coordinator->OnMessage(1, reply);
    if (sink.sent[1].empty()) coordinator->OnMessage(2, Accept(prepare, 1));
    sink.Take<schedule::Abort>(2);
    return sink.Take<schedule::Abort>(1).why.text;
  };
  EXPECT_EQ(attempt({{NodeIndex{2}, 1}}), "node n1 answered prepare badly: label for node index 2 (own=0, nodes=2)");
  EXPECT_EQ(attempt({{NodeIndex{0}, 1}}), "node n1 answered prepare badly: label for node index 0 (own=0, nodes=2)");
  EXPECT_EQ(attempt({{NodeIndex{1}, 1}, {NodeIndex{1}, 2}}),
            "node n1 answered prepare badly: two labels for node index 1");
  EXPECT_EQ(attempt({}), "node n1 issued no label for node n2");
}

TEST_F(TwoNodesTest, DisconnectionWhilePreparingAborts) {
  const auto prepare = StartTeam();
  coordinator->OnDisconnected(2);
  EXPECT_THAT(Brief(sink.Take<schedule::Abort>(1).why), Pair(Failure::kMemberLost, Names("node n2")));
  // The node comes back with its prepared epoch.
  Register(3, "n2", 1, {Running(prepare, 0, 1)});
  const auto abort = sink.Take<schedule::Abort>(3);
  EXPECT_EQ(abort.team, prepare.layout.id);
  EXPECT_EQ(abort.epoch, EpochId{1});
}

TEST_F(TwoNodesTest, SilenceWhilePreparingAborts) {
  coordinator->OnMessage(1, Accept(StartTeam(), 0));
  Advance(absl::Seconds(10));
  EXPECT_THAT(Brief(TakeBoth<schedule::Abort>().why), Pair(Failure::kTimedOut, Names("10s", "node n2")));
}

TEST_F(TwoNodesTest, CancelWhilePreparingAborts) {
  StartTeam();
  coordinator->OnMessage(2, schedule::CancelJoin{21, {Failure::kTimedOut, "gave up"}});
  EXPECT_THAT(Brief(sink.Take<schedule::Abort>(1).why),
              Pair(Failure::kTimedOut, Names("rank 1", "node n2", "gave up")));
  sink.Take<schedule::Abort>(2);
}

TEST_F(TwoNodesTest, ADecisionThatTheStoreHasNoRoomForAborts) {
  const auto prepare = StartTeam();
  coordinator->OnMessage(1, Accept(prepare, 0));
  store.error = absl::ResourceExhaustedError("disk full");
  coordinator->OnMessage(2, Accept(prepare, 1));
  const auto abort = TakeBoth<schedule::Abort>();
  EXPECT_EQ(abort.team, prepare.layout.id);
  EXPECT_THAT(Brief(abort.why), Pair(Failure::kInternal, Names("disk full")));
  store.error = absl::OkStatus();
  FormTeam();
}

TEST_F(TwoNodesTest, ADecisionWaitsForAStoreThatDoesNotAnswer) {
  const auto prepare = StartTeam();
  coordinator->OnMessage(1, Accept(prepare, 0));
  store.error = absl::UnavailableError("no answer");
  coordinator->OnMessage(2, Accept(prepare, 1));
  Advance(options.prepare_timeout * 2);
  EXPECT_TRUE(Silent());
  Join(1, 0, 1, 31, "other");
  EXPECT_THAT(Brief(sink.Take<schedule::Abort>(1).why), Pair(Failure::kInternal, Names("no answer")));
  coordinator->OnDisconnected(2);
  Register(2, "n2", 1, {Running(prepare, 0, 1)});
  EXPECT_TRUE(Silent()) << "a member that comes back is not told, either";
  store.error = absl::OkStatus();
  Advance(absl::Seconds(2));
  EXPECT_EQ(TakeBoth<schedule::Commit>().team, prepare.layout.id);
  Restart();
  Register(2, "n2", 1, {Running(prepare, 0, 1)});
  EXPECT_EQ(sink.Take<schedule::Commit>(2).epoch, EpochId{1});
}

TEST_F(CoordinatorTest, NoIdIsToldInATermThatIsNotRecorded) {
  store.error = absl::ResourceExhaustedError("disk full");
  Restart();
  coordinator->OnConnected(1);
  coordinator->OnMessage(1, {schedule::Register{Announce("n1", 1)}});
  Join(1, 0, 1, 10);
  Advance(absl::Seconds(3));
  EXPECT_TRUE(Silent());
  store.error = absl::OkStatus();
  Advance(absl::Seconds(3));
  EXPECT_TRUE(sink.Take<schedule::Registered>(1).accepted);
  sink.Take<schedule::Prepare>(1);
}

TEST_F(TeamTest, SubTeamsAreNotRecorded) {
  const auto child = FormTeam("child", team.layout.id.value());
  EXPECT_EQ(child.layout.parent, team.layout.id);
  EXPECT_EQ(store.Load()->teams.size(), 1u);
  EXPECT_EQ(State(child.layout.id), "ready");
  absl::Status result;
  coordinator->ReplanTeam(child.layout.id, {}, [&](const absl::Status& status) { result = status; });
  EXPECT_THAT(result, FailsWith(absl::StatusCode::kFailedPrecondition, absl::StrCat("team ", child.layout.id.value()),
                                absl::StrCat("team ", team.layout.id.value())));
}

TEST_F(TeamTest, ParentMustBeKnownWholeAndHere) {
  Register(3, "n3");
  Join(1, 0, 2, 10, "t", 99);
  EXPECT_THAT(sink.Take<schedule::Abort>(1).why.text, Names("team 99", "team='t'"));
  Join(3, 0, 2, 30, "t", team.layout.id.value());
  EXPECT_THAT(sink.Take<schedule::Abort>(3).why.text,
              Names(absl::StrCat("team ", team.layout.id.value()), "node n3", "team='t'"));
  coordinator->OnMessage(1, schedule::TeamBroken{team.layout.id, {Failure::kMemberLost, "x"}});
  sink.Take<schedule::BreakTeam>(2);
  Join(1, 0, 2, 10, "t", team.layout.id.value());
  EXPECT_THAT(sink.Take<schedule::Abort>(1).why.text, Names(absl::StrCat("team ", team.layout.id.value()), "team='t'"));
}

TEST_F(TeamTest, SubTeamThatThePlannerLostIsAdopted) {
  const auto child = FormTeam("child", team.layout.id.value());
  Restart();
  EXPECT_TRUE(Register(1, "n1", 1, {Running(team, 1), Running(child, 1)}).forgotten.empty());
  EXPECT_EQ(State(child.layout.id), "ready");
  EXPECT_TRUE(Register(2, "n2", 1, {Running(team, 1), Running(child, 1)}).forgotten.empty());
  EXPECT_TRUE(Silent());
  EXPECT_EQ(store.Load()->teams.size(), 1u);
  coordinator->OnMessage(1, schedule::LeaveTeam{child.layout.id});
  coordinator->OnMessage(2, schedule::LeaveTeam{child.layout.id});
  TakeBoth<schedule::EndTeam>();
  EXPECT_THAT(coordinator->view().FindTeam(child.layout.id),
              FailsWith(absl::StatusCode::kNotFound, absl::StrCat("team ", child.layout.id.value())));
}

TEST_F(TeamTest, NobodyIsToldOfAnAbortThatCannotBeRecorded) {
  const auto child = FormTeam("child", team.layout.id.value());  // assume that no daemon received its Commit
  Restart();
  store.error = absl::ResourceExhaustedError("disk full");
  Register(2, "n2", 1, {Running(team, 1), Running(child, 0, 1)});
  Register(1, "n1", 1, {Running(team, 1)});
  Advance(absl::Seconds(3));
  EXPECT_TRUE(Silent());
  store.error = absl::OkStatus();
  Advance(absl::Seconds(3));
  EXPECT_EQ(sink.Take<schedule::Abort>(2).team, child.layout.id);
  Restart();
  EXPECT_EQ(Register(1, "n1", 1, {Running(team, 1), Running(child, 1)}).forgotten,
            (std::vector<TeamId>{child.layout.id}));
}

TEST_F(TeamTest, SubTeamUndecidedAtARestartIsSettledByThoseThatRunIt) {
  // Only n1 received its Commits.
  const auto child = FormTeam("child", team.layout.id.value());
  Restart();
  Register(2, "n2", 1, {Running(team, 1), Running(child, 0, 1)});
  EXPECT_TRUE(Silent()) << "n1 may run it";
  coordinator->OnMessage(2, schedule::CommitReply{child.layout.id, EpochId{1}});  // after n1 has notified it
  EXPECT_TRUE(Register(1, "n1", 1, {Running(team, 1), Running(child, 1)}).forgotten.empty());
  EXPECT_EQ(State(child.layout.id), "ready");
  EXPECT_TRUE(Silent());
  // The daemons come back in the other order.
  Restart();
  Register(1, "n1", 1, {Running(team, 1), Running(child, 1)});
  EXPECT_TRUE(Register(2, "n2", 1, {Running(team, 1), Running(child, 0, 1)}).forgotten.empty());
  EXPECT_EQ(State(child.layout.id), "ready");
  EXPECT_TRUE(Silent());
  // No daemon runs the team.
  Restart();
  Register(1, "n1", 1, {Running(team, 1)});
  Register(2, "n2", 1, {Running(team, 1), Running(child, 0, 1)});
  EXPECT_EQ(sink.Take<schedule::Abort>(2).epoch, EpochId{1});
  EXPECT_FALSE(coordinator->view().FindTeam(child.layout.id).ok());
}

// LargeTeamTest has a team that is taken for a large one.
class LargeTeamTest : public CoordinatorTest {
 protected:
  LargeTeamTest() {
    options.nodes_at_once = 1;
    Restart();
    RegisterTwo();
    Join(1, 0, 2, 11);
    Join(2, 1, 2, 21);
  }
  bool TakesATurn() {
    if (coordinator->NextDeadline() > clock.Now()) return false;
    coordinator->Tick(clock.Now());
    return true;
  }
};

TEST_F(LargeTeamTest, ItsChangesTakeSeveralTurns) {
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_TRUE(Silent());
    EXPECT_TRUE(TakesATurn());
  }
  while (Silent() && TakesATurn()) {
  }
  const auto prepare = TakeBoth<schedule::Prepare>();
  AcceptBoth(prepare);
  EXPECT_TRUE(Silent());
  while (TakesATurn()) {
  }
  TakeBoth<schedule::Commit>();
  EXPECT_EQ(State(prepare.layout.id), "ready");
}

TEST_F(LargeTeamTest, AMemberMayBeLostBetweenTheTurns) {
  uint32_t turns = 0;
  for (SessionId session = 2; turns < 10; ++turns) {
    sink.sent.clear();
    for (uint32_t turn = 0; turn < turns; ++turn) (void)TakesATurn();
    const bool was_prepared = !Silent();
    sink.sent.clear();
    coordinator->OnDisconnected(session);
    EXPECT_EQ(sink.Take<schedule::Abort>(1).why.node, "n2");
    while (TakesATurn()) {
    }
    EXPECT_TRUE(Silent());
    if (was_prepared) break;
    EXPECT_TRUE(Register(++session, "n2").accepted);
    Join(1, 0, 2, 100 + turns);
    Join(session, 1, 2, 200 + turns);
  }
  EXPECT_GT(turns, 1u);
  EXPECT_LT(turns, 10u);
}

}  // namespace
}  // namespace copse::coordinator
