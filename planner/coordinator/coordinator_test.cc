// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/coordinator.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/log.h"
#include "base/version.h"
#include "gtest/gtest.h"
#include "planner/coordinator/fake_plan_maker.h"
#include "planner/schedule/plan.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// Keeps what was sent, by session.
class RecordingSink : public SessionSink {
 public:
  void Send(SessionId session, const schedule::ToDaemon& message) override { sent[session].push_back(message); }
  void Close(SessionId session, const std::string& why) override { closed[session] = why; }

  // Takes the oldest message to `session`, which must be a T.
  template <typename T>
  T Take(SessionId session) {
    auto& queue = sent[session];
    if (queue.empty() || !std::holds_alternative<T>(queue.front())) {
      ADD_FAILURE() << "session " << session << ": "
                    << (queue.empty() ? "nothing was sent" : absl::StrCat("message kind ", queue.front().index()));
      return T{};
    }
    T message = std::get<T>(queue.front());
    queue.erase(queue.begin());
    return message;
  }

  std::map<SessionId, std::vector<schedule::ToDaemon>> sent;
  std::map<SessionId, std::string> closed;
};

class FailingStore : public MemoryStore {
 public:
  absl::Status SaveTeam(const TeamRecord& record) override {
    return error.ok() ? MemoryStore::SaveTeam(record) : error;
  }
  absl::Status RemoveTeam(TeamId team) override { return error.ok() ? MemoryStore::RemoveTeam(team) : error; }
  absl::Status SaveNextIds(const NextIds& next) override { return error.ok() ? MemoryStore::SaveNextIds(next) : error; }
  absl::Status SaveDraining(const std::string& node, bool draining) override {
    return error.ok() ? MemoryStore::SaveDraining(node, draining) : error;
  }
  absl::Status error;
};

schedule::NodeAnnouncement Announce(const std::string& name, uint64_t incarnation) {
  schedule::NodeAnnouncement node;
  node.name = name;
  node.incarnation = Incarnation{incarnation};
  node.worker_address = absl::StrCat("address of ", name);
  node.version = kVersion;
  node.formats = {kRingLayoutVersion, kPacketVersion, kProtoVersion, kPlanFormatVersion};
  return node;
}

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() {
    SetLogLevel(LogLevel::kError);
    Restart();
  }

  void Restart() {
    sink.sent.clear();
    coordinator = std::make_unique<Coordinator>(&clock, &store, &plan_maker, &sink, options);
    EXPECT_TRUE(coordinator->Start().ok());
  }

  void Advance(absl::Duration duration) {
    clock.Advance(duration);
    coordinator->Tick();
  }

  // Connects and registers `name`; the Registered message is taken.
  schedule::Registered Register(SessionId session, const std::string& name, uint64_t incarnation = 1,
                                std::vector<schedule::RunningTeam> teams = {}) {
    coordinator->OnConnected(session);
    coordinator->OnMessage(session, schedule::Register{Announce(name, incarnation), std::move(teams)});
    return sink.Take<schedule::Registered>(session);
  }

  void Join(SessionId session, uint32_t rank, uint32_t size, uint64_t request, const std::string& name = "t",
            uint64_t parent = 0) {
    schedule::JoinTeam join;
    join.request = request;
    join.identity = {1000, "job", 0, name};
    join.parent = TeamId{parent};
    join.rank = Rank{rank};
    join.size = size;
    coordinator->OnMessage(session, join);
  }

  static schedule::PrepareReply Accept(const schedule::Prepare& prepare, uint32_t node, uint64_t started = 0) {
    schedule::PrepareReply reply;
    reply.team = prepare.layout.id;
    reply.epoch = prepare.epoch;
    reply.accepted = true;
    reply.started = CallSeq{started};
    for (uint32_t v = 0; v < prepare.layout.nodes.size(); ++v) {
      if (v != node) reply.incoming.push_back({NodeIndex{v}, 100 * prepare.epoch.value() + 10 * node + v});
    }
    return reply;
  }

  // Nodes n1 and n2 on sessions 1 and 2, rank 0 and 1 of a team that is committed; returns the Prepare of n1.
  schedule::Prepare FormTeam(const std::string& name = "t", uint64_t parent = 0) {
    Join(1, 0, 2, ++request, name, parent);
    Join(2, 1, 2, ++request, name, parent);
    const auto p1 = sink.Take<schedule::Prepare>(1);
    const auto p2 = sink.Take<schedule::Prepare>(2);
    coordinator->OnMessage(1, Accept(p1, 0));
    coordinator->OnMessage(2, Accept(p2, 1));
    sink.Take<schedule::Commit>(1);
    sink.Take<schedule::Commit>(2);
    coordinator->OnMessage(1, schedule::CommitReply{p1.layout.id, p1.epoch});
    coordinator->OnMessage(2, schedule::CommitReply{p1.layout.id, p1.epoch});
    return p1;
  }
  void RegisterTwo() {
    EXPECT_TRUE(Register(1, "n1").accepted);
    EXPECT_TRUE(Register(2, "n2").accepted);
  }
  static schedule::RunningTeam Running(const schedule::Prepare& prepare, uint32_t epoch, uint32_t prepared = 0) {
    schedule::RunningTeam running;
    running.layout = prepare.layout;
    running.plans = prepare.plans;
    running.epoch = EpochId{epoch};
    running.prepared_epoch = EpochId{prepared};
    return running;
  }
  std::string State(TeamId team) {
    const auto info = coordinator->Team(team);
    return info.ok() ? info->state : std::string(info.status().message());
  }
  bool Silent() const {
    for (const auto& [session, queue] : sink.sent) {
      if (!queue.empty()) return false;
    }
    return true;
  }

  uint64_t request = 1000;
  FakeClock clock;
  FailingStore store;
  FakePlanMaker plan_maker;
  RecordingSink sink;
  CoordinatorOptions options;
  std::unique_ptr<Coordinator> coordinator;
};

// --- Registration ---

TEST_F(CoordinatorTest, RegistersANode) {
  EXPECT_TRUE(Register(1, "n1").accepted);
  const auto nodes = coordinator->Nodes();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].state, "ready");
  EXPECT_EQ(nodes[0].announcement.name, "n1");
  EXPECT_TRUE(nodes[0].connected);
}

TEST_F(CoordinatorTest, RefusesBadNames) {
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a\n"), std::string(254, 'a')}) {
    const auto registered = Register(1, name);
    EXPECT_FALSE(registered.accepted);
    EXPECT_EQ(registered.why.failure, Failure::kInvalidArgument);
    EXPECT_EQ(sink.closed.count(1), 1u);
    sink.closed.clear();
  }
}

TEST_F(CoordinatorTest, RefusesTokensVersionsAndDuplicates) {
  options.join_token = "secret";
  Restart();
  auto refused = Register(1, "n1");
  EXPECT_EQ(refused.why, (FailureReport{Failure::kPermission, "node n1: no join token"}));
  coordinator->OnConnected(2);
  schedule::NodeAnnouncement node = Announce("n1", 1);
  node.join_token = "Secret";
  coordinator->OnMessage(2, schedule::Register{node, {}});
  EXPECT_EQ(sink.Take<schedule::Registered>(2).why.text, "node n1: wrong join token");
  coordinator->OnConnected(3);
  node.join_token = "secret";
  node.formats.plan = 7;
  coordinator->OnMessage(3, schedule::Register{node, {}});
  refused = sink.Take<schedule::Registered>(3);
  EXPECT_EQ(refused.why.failure, Failure::kVersion);
  EXPECT_EQ(refused.why.text, "node n1: plan format 7 (this side 1)");
  node.formats.plan = kPlanFormatVersion + 1;  // one step is fine
  coordinator->OnConnected(4);
  coordinator->OnMessage(4, schedule::Register{node, {}});
  EXPECT_TRUE(sink.Take<schedule::Registered>(4).accepted);
  coordinator->OnConnected(5);
  node.incarnation = Incarnation{2};
  coordinator->OnMessage(5, schedule::Register{node, {}});
  refused = sink.Take<schedule::Registered>(5);
  EXPECT_EQ(refused.why.failure, Failure::kPermission);
  EXPECT_EQ(refused.why.text,
            "node n1: the name is in use by another daemon that is connected (incarnation=2, connected=1)");
  EXPECT_EQ(sink.closed.count(4), 0u);
}

TEST_F(CoordinatorTest, FirstMessageMustBeRegisterAndOnlyOnceAndSoon) {
  coordinator->OnConnected(1);
  Join(1, 0, 2, 1);
  EXPECT_EQ(sink.closed[1], "the first message must be Register");
  Register(2, "n2");
  coordinator->OnMessage(2, schedule::Register{Announce("n2", 1), {}});
  EXPECT_EQ(sink.closed[2], "Register came twice");
  coordinator->OnMessage(2, schedule::LeaveTeam{});  // ignored: closed
  coordinator->OnConnected(3);
  EXPECT_LE(coordinator->NextDeadline(), clock.Now() + options.register_timeout);
  Advance(options.register_timeout);
  EXPECT_EQ(sink.closed[3], "no Register within 10s");
}

TEST_F(CoordinatorTest, NewerStreamOfSameDaemonReplacesOlder) {
  Register(1, "n1");
  EXPECT_TRUE(Register(2, "n1").accepted);
  EXPECT_EQ(sink.closed[1], "replaced by a newer stream of the same daemon");
  coordinator->OnDisconnected(1);
  EXPECT_TRUE(coordinator->Node("n1")->connected);
}

// --- Formation ---

TEST_F(CoordinatorTest, FormsATeam) {
  RegisterTwo();
  Join(2, 0, 3, 20);  // n2 is node 0: it has rank 0
  Join(1, 1, 3, 10);
  EXPECT_EQ(coordinator->Teams()[0].state, "forming");
  EXPECT_EQ(coordinator->Teams()[0].missing, (std::vector<Rank>{Rank{2}}));
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
  coordinator->OnMessage(2, Accept(p2, 0));  // twice: ignored
  EXPECT_TRUE(Silent());
  coordinator->OnMessage(1, Accept(p1, 1));
  const auto c2 = sink.Take<schedule::Commit>(2);
  const auto c1 = sink.Take<schedule::Commit>(1);
  EXPECT_EQ(c1.first_call, CallSeq{0});
  ASSERT_EQ(c1.outgoing.size(), 1u);  // n1 is node 1 and sends to node 0 with the label that node 0 issued for node 1
  EXPECT_EQ(c1.outgoing[0].neighbour, NodeIndex{0});
  EXPECT_EQ(c1.outgoing[0].label, 101u);
  EXPECT_EQ(c2.outgoing[0].label, 110u);
  EXPECT_EQ(store.Load()->teams.at(p1.layout.id).epoch, EpochId{1});
  EXPECT_EQ(State(p1.layout.id), "ready");
  EXPECT_EQ(coordinator->Node("n2")->ranks, 2u);
  const auto plans = coordinator->Plans();
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_NE(plans[0].plan.id, plans[1].plan.id);
  EXPECT_EQ(coordinator->Explain(plans[0].plan.id)->text, "flat over 2 nodes");
  EXPECT_EQ(coordinator->Explain(PlanId{99}).status().message(), "plan 99: not known");
}

TEST_F(CoordinatorTest, OneNodeTeamNeedsNoLabels) {
  Register(1, "n1");
  Join(1, 0, 1, 1);
  const auto prepare = sink.Take<schedule::Prepare>(1);
  coordinator->OnMessage(1, Accept(prepare, 0));
  EXPECT_EQ(sink.Take<schedule::Commit>(1).outgoing.size(), 0u);
}

// What each mistake tells all that joined.
TEST_F(CoordinatorTest, JoinMistakesFailAllAtOnceAndNameBoth) {
  RegisterTwo();
  const std::string team = " (team='t' of job job of user 1000)";
  const auto expect = [&](const std::string& text, Failure failure) {
    for (const SessionId session : {1, 2}) {
      const auto abort = sink.Take<schedule::Abort>(session);
      EXPECT_EQ(abort.why.text, text + team);
      EXPECT_EQ(abort.why.failure, failure);
      EXPECT_EQ(abort.epoch, EpochId{1});
      EXPECT_EQ(abort.requests.size(), 1u);
    }
    EXPECT_TRUE(Silent());
    EXPECT_TRUE(coordinator->Teams().empty());
  };
  Join(1, 0, 3, 10);
  Join(1, 0, 3, 10);  // said again
  Join(2, 0, 3, 20);
  expect("rank 0 claimed twice: by node n1 (request=10) and by node n2 (request=20)", Failure::kMismatch);
  Join(1, 0, 3, 11);
  Join(2, 1, 2, 21);
  expect("sizes differ: 3 says node n1 (request=11) as rank 0, 2 says node n2 (request=21) as rank 1",
         Failure::kMismatch);
  Join(1, 0, 3, 12);
  Join(2, 3, 3, 22);
  expect("rank of node n2 (request=22): 3 (limit 2)", Failure::kInvalidArgument);
  Join(1, 0, 3, 13);
  Join(2, 3, 65537, 23);
  expect("size of node n2 (request=23): 65537 (limit 1 to 65536)", Failure::kInvalidArgument);
  Join(1, 0, 3, 14);
  Join(2, 0, 0, 24);
  expect("size of node n2 (request=24): 0 (limit 1 to 65536)", Failure::kInvalidArgument);
  Join(1, 0, 3, 15);
  Join(2, 1, 3, 25);
  coordinator->OnMessage(2, schedule::CancelJoin{25, {Failure::kMemberLost, "process 7 was killed"}});
  expect("rank 1 on node n2 went away: process 7 was killed", Failure::kMemberLost);
  coordinator->OnMessage(2, schedule::CancelJoin{25, {}});  // nothing there
  EXPECT_TRUE(Silent());
  Join(1, 0, 3, 16);
  ASSERT_TRUE(coordinator->SetDraining("n2", true).ok());
  sink.Take<schedule::Drain>(2);
  Join(2, 1, 3, 26);
  expect("node n2 is draining", Failure::kNoResource);
}

TEST_F(CoordinatorTest, TooManyFormationsAreRefused) {
  options.formations_max = 1;
  Restart();
  RegisterTwo();
  Join(1, 0, 2, 10, "a");
  Join(1, 0, 2, 11, "b");
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.text,
            "too many teams are forming (limit 1) (team='b' of job job of user 1000)");
}

TEST_F(CoordinatorTest, TooManyRanksOfANodeAreRefused) {
  Register(1, "n1");
  for (uint32_t rank = 0; rank < 257; ++rank) Join(1, rank, 257, rank);
  const auto abort = sink.Take<schedule::Abort>(1);
  EXPECT_EQ(abort.why.text, "node n1: more than 256 ranks of one team");
  EXPECT_EQ(abort.requests.size(), 257u);
}

TEST_F(CoordinatorTest, FormationTimesOutAndNamesMissingRanks) {
  RegisterTwo();
  for (const uint32_t rank : {0, 1, 3, 4, 7}) Join(1, rank, 8, rank);
  Join(2, 6, 8, 1);
  coordinator->OnDisconnected(2);  // its joins are dropped; the others wait on
  Advance(absl::Seconds(29));
  EXPECT_TRUE(Silent());
  Advance(absl::Seconds(1));
  const auto abort = sink.Take<schedule::Abort>(1);
  EXPECT_EQ(abort.why.failure, Failure::kTimedOut);
  EXPECT_EQ(abort.why.text,
            "3 of 8 ranks missing after 30s: 2,5-6; no contact with node n2 (team='t' of job job of user 1000)");
  EXPECT_EQ(abort.requests.size(), 5u);
}

TEST_F(CoordinatorTest, JoinsAreSaidAgainAfterReconnection) {
  RegisterTwo();
  Join(1, 0, 2, 10);
  coordinator->OnDisconnected(1);
  EXPECT_TRUE(coordinator->Teams().empty());
  Register(3, "n1");
  Join(3, 0, 2, 10);
  Join(2, 1, 2, 20);
  sink.Take<schedule::Prepare>(3);
  sink.Take<schedule::Prepare>(2);
}

TEST_F(CoordinatorTest, JoinThatIsSaidAgainAfterItsTeamFormedIsIgnored) {
  RegisterTwo();
  FormTeam();
  Join(1, 0, 2, request - 1);
  EXPECT_EQ(coordinator->Teams().size(), 1u);
  Join(1, 0, 2, request + 1);  // a new one
  EXPECT_EQ(coordinator->Teams().size(), 2u);
}

TEST_F(CoordinatorTest, PlanMakersErrorReachesMembers) {
  RegisterTwo();
  plan_maker.error = absl::InvalidArgumentError("no plan");
  Join(1, 0, 2, 10);
  Join(2, 1, 2, 20);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why, (FailureReport{Failure::kInvalidArgument, "no plan"}));
  sink.Take<schedule::Abort>(2);
  plan_maker.error = absl::ResourceExhaustedError("too big");
  Join(1, 0, 1, 10);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.failure, Failure::kNoResource);
  plan_maker.error = absl::UnimplementedError("not yet");
  Join(1, 0, 1, 10);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.failure, Failure::kNotSupported);
}

TEST_F(CoordinatorTest, RefusalAbortsForAll) {
  RegisterTwo();
  Join(1, 0, 2, 10);
  Join(2, 1, 2, 20);
  const auto prepare = sink.Take<schedule::Prepare>(1);
  sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(1, Accept(prepare, 0));
  schedule::PrepareReply refusal;
  refusal.team = prepare.layout.id;
  refusal.epoch = prepare.epoch;
  refusal.why = {Failure::kNoMemory, "node n2: team: 9 MiB (limit 8 MiB)"};
  coordinator->OnMessage(2, refusal);
  for (const SessionId session : {1, 2}) {
    const auto abort = sink.Take<schedule::Abort>(session);
    EXPECT_EQ(abort.why, (FailureReport{Failure::kNoMemory, "node n2 refused: team: 9 MiB (limit 8 MiB)"}));
    EXPECT_EQ(abort.team, prepare.layout.id);
    EXPECT_EQ(abort.requests, (std::vector<uint64_t>{session * 10}));
  }
  EXPECT_TRUE(store.Load()->teams.empty());
  coordinator->OnMessage(2, Accept(prepare, 1));  // of an aborted team
  EXPECT_TRUE(Silent());
}

TEST_F(CoordinatorTest, BadLabelsAbort) {
  RegisterTwo();
  const auto attempt = [&](std::vector<schedule::EdgeLabel> labels) {
    Join(1, 0, 2, 10);
    Join(2, 1, 2, 20);
    const auto prepare = sink.Take<schedule::Prepare>(1);
    sink.Take<schedule::Prepare>(2);
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

TEST_F(CoordinatorTest, DisconnectionWhilePreparingAborts) {
  RegisterTwo();
  Join(1, 0, 2, 10);
  Join(2, 1, 2, 20);
  const auto prepare = sink.Take<schedule::Prepare>(1);
  coordinator->OnDisconnected(2);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why,
            (FailureReport{Failure::kMemberLost, "node n2 lost its connection to the planner"}));
  // It comes back, holding what it had prepared.
  Register(3, "n2", 1, {Running(prepare, 0, 1)});
  const auto abort = sink.Take<schedule::Abort>(3);
  EXPECT_EQ(abort.team, prepare.layout.id);
  EXPECT_EQ(abort.epoch, EpochId{1});
}

TEST_F(CoordinatorTest, SilenceWhilePreparingAborts) {
  RegisterTwo();
  Join(1, 0, 2, 10);
  Join(2, 1, 2, 20);
  coordinator->OnMessage(1, Accept(sink.Take<schedule::Prepare>(1), 0));
  sink.Take<schedule::Prepare>(2);
  Advance(absl::Seconds(10));
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why,
            (FailureReport{Failure::kTimedOut, "no answer to prepare within 10s from node n2"}));
  sink.Take<schedule::Abort>(2);
}

TEST_F(CoordinatorTest, CancelWhilePreparingAborts) {
  RegisterTwo();
  Join(1, 0, 2, 10);
  Join(2, 1, 2, 20);
  sink.Take<schedule::Prepare>(1);
  sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(2, schedule::CancelJoin{20, {Failure::kTimedOut, "gave up"}});
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why,
            (FailureReport{Failure::kTimedOut, "rank 1 on node n2 went away: gave up"}));
  sink.Take<schedule::Abort>(2);
}

TEST_F(CoordinatorTest, UnrecordableDecisionAborts) {
  RegisterTwo();
  Join(1, 0, 2, 10);
  Join(2, 1, 2, 20);
  const auto prepare = sink.Take<schedule::Prepare>(1);
  sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(1, Accept(prepare, 0));
  store.error = absl::UnavailableError("disk full");
  coordinator->OnMessage(2, Accept(prepare, 1));
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why,
            (FailureReport{Failure::kInternal, "the planner could not record the decision"}));
  sink.Take<schedule::Abort>(2);
  for (int i = 0; i < 100; ++i) {  // ids run out of the reserved block
    Join(1, 0, 1, 10);
    if (!std::holds_alternative<schedule::Prepare>(sink.sent[1].front())) break;
    const auto p = sink.Take<schedule::Prepare>(1);
    coordinator->OnMessage(1, Accept(p, 0));
    sink.Take<schedule::Abort>(1);
  }
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.text, "disk full");
}

// --- Sub-teams ---

TEST_F(CoordinatorTest, SubTeamsAreNotRecorded) {
  RegisterTwo();
  const auto parent = FormTeam();
  const auto child = FormTeam("child", parent.layout.id.value());
  EXPECT_EQ(child.layout.parent, parent.layout.id);
  EXPECT_EQ(store.Load()->teams.size(), 1u);
  EXPECT_EQ(State(child.layout.id), "ready");
  absl::Status result;
  coordinator->ReplanTeam(child.layout.id, {}, [&](const absl::Status& status) { result = status; });
  EXPECT_EQ(result.message(), absl::StrCat("team ", child.layout.id.value(), ": is derived from team ",
                                           parent.layout.id.value(), ": replan that"));
}

TEST_F(CoordinatorTest, ParentMustBeKnownWholeAndHere) {
  RegisterTwo();
  Register(3, "n3");
  const auto parent = FormTeam();
  Join(1, 0, 2, 10, "t", 99);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.text, "parent team 99 is not known (team='t' of job job of user 1000)");
  Join(3, 0, 2, 30, "t", parent.layout.id.value());
  EXPECT_EQ(sink.Take<schedule::Abort>(3).why.text,
            absl::StrCat("parent team ", parent.layout.id.value(),
                         " has no rank on node n3 (team='t' of job job of user 1000)"));
  coordinator->OnMessage(1, schedule::TeamBroken{parent.layout.id, {Failure::kMemberLost, "x"}});
  sink.Take<schedule::BreakTeam>(2);
  Join(1, 0, 2, 10, "t", parent.layout.id.value());
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.text,
            absl::StrCat("parent team ", parent.layout.id.value(), " is broken: x (team='t' of job job of user 1000)"));
}

TEST_F(CoordinatorTest, SubTeamThatThePlannerLostIsAdopted) {
  RegisterTwo();
  const auto parent = FormTeam();
  const auto child = FormTeam("child", parent.layout.id.value());
  Restart();
  EXPECT_TRUE(Register(1, "n1", 1, {Running(parent, 1), Running(child, 1)}).forgotten.empty());
  EXPECT_EQ(State(child.layout.id), "ready");
  EXPECT_TRUE(Register(2, "n2", 1, {Running(parent, 1), Running(child, 1)}).forgotten.empty());
  EXPECT_TRUE(Silent());
  EXPECT_EQ(store.Load()->teams.size(), 1u);
  coordinator->OnMessage(1, schedule::LeaveTeam{child.layout.id});
  coordinator->OnMessage(2, schedule::LeaveTeam{child.layout.id});
  sink.Take<schedule::EndTeam>(1);
  sink.Take<schedule::EndTeam>(2);
  EXPECT_EQ(State(child.layout.id), absl::StrCat("team ", child.layout.id.value(), ": not known"));
}

TEST_F(CoordinatorTest, SubTeamUndecidedAtARestartEndsForAll) {
  RegisterTwo();
  const auto parent = FormTeam();
  // Say that only n1 got its Commits.
  const auto child = FormTeam("child", parent.layout.id.value());
  const auto other = FormTeam("other", parent.layout.id.value());
  Restart();
  Register(2, "n2", 1, {Running(parent, 1), Running(child, 0, 1)});
  EXPECT_EQ(sink.Take<schedule::Abort>(2).team, child.layout.id);
  EXPECT_EQ(Register(1, "n1", 1, {Running(parent, 1), Running(child, 1)}).forgotten,
            (std::vector<TeamId>{child.layout.id}));
  // Even if the planner dies once more in between.
  Restart();
  EXPECT_EQ(Register(1, "n1", 1, {Running(parent, 1), Running(child, 1)}).forgotten,
            (std::vector<TeamId>{child.layout.id}));
  // The other order.
  Restart();
  Register(1, "n1", 1, {Running(parent, 1), Running(other, 1)});
  EXPECT_TRUE(Register(2, "n2", 1, {Running(parent, 1), Running(other, 0, 1)}).forgotten.empty());
  EXPECT_EQ(sink.Take<schedule::Abort>(2).epoch, EpochId{1});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text,
            absl::StrCat("node n2 came back to team ", other.layout.id.value(),
                         " without the epoch that is recorded (epoch=0, recorded=1)"));
}

// --- Ends ---

TEST_F(CoordinatorTest, TeamEndsWhenAllHaveLeft) {
  RegisterTwo();
  const auto team = FormTeam();
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  EXPECT_TRUE(Silent());
  EXPECT_EQ(store.Load()->teams.size(), 1u);
  coordinator->OnMessage(2, schedule::LeaveTeam{team.layout.id});
  sink.Take<schedule::EndTeam>(1);
  sink.Take<schedule::EndTeam>(2);
  EXPECT_TRUE(store.Load()->teams.empty());
  coordinator->OnMessage(2, schedule::LeaveTeam{team.layout.id});  // again: again told
  sink.Take<schedule::EndTeam>(2);
  // A daemon that missed the end comes back with it.
  EXPECT_EQ(Register(3, "n2", 1, {Running(team, 1)}).forgotten, (std::vector<TeamId>{team.layout.id}));
  Restart();
  EXPECT_EQ(Register(4, "n2", 1, {Running(team, 1)}).forgotten, (std::vector<TeamId>{team.layout.id}));
}

TEST_F(CoordinatorTest, BrokenIsPassedOnAndRecorded) {
  RegisterTwo();
  const auto team = FormTeam();
  coordinator->OnMessage(2,
                         schedule::TeamBroken{team.layout.id, {Failure::kMemberLost, "rank 1: process 7 was killed"}});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text, "rank 1: process 7 was killed");
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(team.layout.id), "broken");
  EXPECT_EQ(coordinator->Team(team.layout.id)->why, "rank 1: process 7 was killed");
  coordinator->OnMessage(1, schedule::TeamBroken{team.layout.id, {}});
  EXPECT_TRUE(Silent());
  coordinator->OnMessage(1, schedule::TeamBroken{TeamId{99}, {}});
  EXPECT_TRUE(Silent());
  Restart();
  EXPECT_EQ(State(team.layout.id), "broken");
  Register(1, "n1", 1, {Running(team, 1)});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text, "rank 1: process 7 was killed");
  EXPECT_EQ(coordinator->BreakTeam(team.layout.id, "").message(),
            absl::StrCat("team ", team.layout.id.value(), ": broken already: rank 1: process 7 was killed"));
}

TEST_F(CoordinatorTest, AdministratorBreaks) {
  RegisterTwo();
  const auto team = FormTeam();
  EXPECT_EQ(coordinator->BreakTeam(TeamId{99}, "").code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(coordinator->BreakTeam(team.layout.id, "enough").ok());
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why,
            (FailureReport{Failure::kCanceled, "broken by an administrator: enough"}));
  sink.Take<schedule::BreakTeam>(2);
}

TEST_F(CoordinatorTest, NodeIsLostAfterItsTimeoutOnly) {
  RegisterTwo();
  const auto team = FormTeam();
  coordinator->OnDisconnected(2);
  Advance(absl::Milliseconds(9999));
  EXPECT_TRUE(Silent());
  EXPECT_EQ(coordinator->Node("n2")->state, "ready");
  EXPECT_NEAR(coordinator->Node("n2")->last_seen_s, 9.999, 1e-6);
  EXPECT_FALSE(coordinator->Node("n2")->connected);
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why,
            (FailureReport{Failure::kMemberLost, "node n2 lost: no contact for 10s (incarnation=1)"}));
  EXPECT_EQ(coordinator->Node("n2")->state, "lost");
  // Back, it is fenced: the team is over for it.
  const auto back = Register(3, "n2", 1, {Running(team, 1)});
  EXPECT_TRUE(back.accepted);
  EXPECT_EQ(back.forgotten, (std::vector<TeamId>{team.layout.id}));
  EXPECT_EQ(coordinator->Node("n2")->state, "ready");
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  sink.Take<schedule::EndTeam>(1);
  EXPECT_TRUE(store.Load()->teams.empty());
}

TEST_F(CoordinatorTest, LostNodeThatNeverGotItsCommitIsToldAbort) {
  RegisterTwo();
  const auto team = FormTeam();
  coordinator->OnDisconnected(2);
  Advance(absl::Seconds(10));
  EXPECT_TRUE(Register(3, "n2", 1, {Running(team, 0, 1)}).forgotten.empty());
  const auto abort = sink.Take<schedule::Abort>(3);
  EXPECT_EQ(abort.epoch, EpochId{1});
  EXPECT_EQ(abort.why.text, "node n2 lost: no contact for 10s (incarnation=1)");
}

TEST_F(CoordinatorTest, ReconnectionInTimeKeepsTheTeam) {
  RegisterTwo();
  const auto team = FormTeam();
  coordinator->OnDisconnected(2);
  Advance(absl::Seconds(9));
  EXPECT_TRUE(Register(3, "n2", 1, {Running(team, 1)}).forgotten.empty());
  Advance(absl::Seconds(60));
  EXPECT_TRUE(Silent());
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(CoordinatorTest, NewIncarnationBreaksTheOldOnesTeams) {
  RegisterTwo();
  const auto team = FormTeam();
  coordinator->OnDisconnected(2);
  EXPECT_TRUE(Register(3, "n2", 5).accepted);
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why,
            (FailureReport{Failure::kMemberLost, "node n2 restarted (incarnation=1, now=5)"}));
  EXPECT_TRUE(sink.sent[3].empty());
  coordinator->OnMessage(3, schedule::LeaveTeam{team.layout.id});  // not a member: told to forget
  sink.Take<schedule::EndTeam>(3);
}

TEST_F(CoordinatorTest, NotListedMeansLeft) {
  RegisterTwo();
  const auto team = FormTeam();
  coordinator->OnDisconnected(2);
  Register(3, "n2", 1);
  EXPECT_EQ(State(team.layout.id), "ready");
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  sink.Take<schedule::EndTeam>(1);
}

TEST_F(CoordinatorTest, AcceptedAndNotListedBreaks) {
  RegisterTwo();
  Join(1, 0, 2, 11);
  Join(2, 1, 2, 21);
  const auto p1 = sink.Take<schedule::Prepare>(1);
  coordinator->OnMessage(1, Accept(p1, 0));
  coordinator->OnMessage(2, Accept(sink.Take<schedule::Prepare>(2), 1));
  sink.Take<schedule::Commit>(1);
  coordinator->OnDisconnected(2);  // with the Commit
  Register(3, "n2", 1);
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text,
            absl::StrCat("node n2 came back without team ", p1.layout.id.value(), ", whose epoch 1 it had accepted"));
}

TEST_F(CoordinatorTest, DaemonThatComesBackBrokenBreaksTheTeam) {
  RegisterTwo();
  const auto team = FormTeam();
  coordinator->OnDisconnected(2);
  auto running = Running(team, 1);
  running.broken = true;
  Register(3, "n2", 1, {running});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text,
            absl::StrCat("node n2 came back to team ", team.layout.id.value(), " and reports it broken"));
  EXPECT_TRUE(Silent());
}

// The planner hears both ends of a link that is dead, and weighs what they say.
class SilenceTest : public CoordinatorTest {
 protected:
  // Three nodes of one team.
  void SetUp() override {
    for (SessionId session = 1; session <= 3; ++session) {
      ASSERT_TRUE(Register(session, absl::StrCat("n", session), 100 + session).weighs_silence);
      Join(session, static_cast<uint32_t>(session - 1), 3, session);
    }
    for (SessionId session = 1; session <= 3; ++session) {
      const auto prepare = sink.Take<schedule::Prepare>(session);
      team = prepare.layout.id;
      coordinator->OnMessage(session, Accept(prepare, static_cast<uint32_t>(session - 1)));
    }
    for (SessionId session = 1; session <= 3; ++session) sink.Take<schedule::Commit>(session);
  }
  void Say(SessionId session, uint64_t about, uint32_t living, bool silent = true) {
    coordinator->OnMessage(session, schedule::NeighbourSilent{.neighbour = Incarnation{100 + about},
                                                              .silent = silent,
                                                              .living = living,
                                                              .teams = {team},
                                                              .silent_ms = 10000,
                                                              .others_due_ms = 1000});
  }
  TeamId team{0};
};

TEST_F(SilenceTest, TheOneThatIsCutOffIsNamedThoughItComplainedFirst) {
  Say(2, 1, 1);
  Say(2, 3, 0);
  Advance(absl::Milliseconds(999));
  EXPECT_EQ(State(team), "ready");
  Say(1, 2, 1);
  Say(3, 2, 1);
  Advance(absl::Milliseconds(1));
  EXPECT_EQ(State(team), "broken");
  for (SessionId session = 1; session <= 3; ++session) {
    EXPECT_EQ(sink.Take<schedule::BreakTeam>(session).why,
              (FailureReport{Failure::kMemberLost, "rank 1 on node n2 lost: silent for 10s"}));
  }
  EXPECT_EQ(store.Load()->teams.at(team).why.text, "rank 1 on node n2 lost: silent for 10s");
  Advance(absl::Seconds(1));
  EXPECT_TRUE(Silent());
}

TEST_F(SilenceTest, BothEndsAreNamedIfNeitherCanBeToldFromTheOther) {
  Say(1, 2, 1);
  Say(2, 1, 1);
  Advance(absl::Seconds(1));
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(3).why.text,
            "rank 0 on node n1 or rank 1 on node n2 lost: silent to each other for 10s");
}

TEST_F(SilenceTest, ANeighbourThatIsHeardAgainBreaksNothing) {
  Say(1, 2, 1);
  Advance(absl::Milliseconds(500));
  Say(1, 2, 1, false);
  Advance(absl::Seconds(1));
  EXPECT_EQ(State(team), "ready");
  EXPECT_TRUE(Silent());
}

TEST_F(SilenceTest, NobodySpeaksOfTeamsThatItHasNoPartIn) {
  EXPECT_TRUE(Register(4, "n4", 104).accepted);
  Say(4, 2, 0);
  Say(1, 4, 0);
  Say(1, 1, 0);
  Advance(absl::Seconds(1));
  EXPECT_EQ(State(team), "ready");
}

TEST_F(SilenceTest, AMemberThatLeftMeanwhileIsNotLost) {
  Say(1, 2, 0);
  coordinator->OnMessage(2, schedule::LeaveTeam{team});
  Advance(absl::Seconds(1));
  EXPECT_EQ(State(team), "ready");
}

// --- Restart of the planner ---

TEST_F(CoordinatorTest, RestartKeepsTeamsAndIds) {
  RegisterTwo();
  const auto team = FormTeam();
  ASSERT_TRUE(coordinator->SetDraining("n1", true).ok());
  Restart();
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_FALSE(coordinator->Node("n1")->connected);
  EXPECT_EQ(coordinator->Node("n1")->state, "draining");
  Register(1, "n1", 1, {Running(team, 1)});
  EXPECT_TRUE(sink.Take<schedule::Drain>(1).on);
  ASSERT_TRUE(coordinator->SetDraining("n1", false).ok());
  EXPECT_FALSE(sink.Take<schedule::Drain>(1).on);
  Register(2, "n2", 1, {Running(team, 1)});
  const auto next = FormTeam("u");
  EXPECT_GT(next.layout.id, team.layout.id);
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(CoordinatorTest, NodeThatDoesNotComeBackAfterARestartIsLost) {
  RegisterTwo();
  const auto team = FormTeam();
  Restart();
  Register(1, "n1", 1, {Running(team, 1)});
  Advance(absl::Seconds(10));
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text, "node n2 lost: no contact for 10s (incarnation=1)");
}

TEST_F(CoordinatorTest, RestartBetweenRecordAndCommitSendsCommitOnReturn) {
  RegisterTwo();
  Join(1, 0, 2, 11);
  Join(2, 1, 2, 21);
  const auto p1 = sink.Take<schedule::Prepare>(1);
  coordinator->OnMessage(1, Accept(p1, 0));
  coordinator->OnMessage(2, Accept(sink.Take<schedule::Prepare>(2), 1));
  Restart();  // the Commits are lost
  Register(1, "n1", 1, {Running(p1, 0, 1)});
  const auto commit = sink.Take<schedule::Commit>(1);
  EXPECT_EQ(commit.epoch, EpochId{1});
  ASSERT_EQ(commit.outgoing.size(), 1u);
  EXPECT_EQ(commit.outgoing[0].label, 110u);
  Register(2, "n2", 1, {Running(p1, 0, 1)});
  sink.Take<schedule::Commit>(2);
}

TEST_F(CoordinatorTest, RestartBeforeRecordAborts) {
  RegisterTwo();
  Join(1, 0, 2, 11);
  Join(2, 1, 2, 21);
  const auto p1 = sink.Take<schedule::Prepare>(1);
  coordinator->OnMessage(1, Accept(p1, 0));
  Restart();
  Register(1, "n1", 1, {Running(p1, 0, 1)});
  EXPECT_EQ(
      sink.Take<schedule::Abort>(1).why.text,
      absl::StrCat("team ", p1.layout.id.value(), " was not decided before the connection to the planner was lost"));
}

TEST_F(CoordinatorTest, TeamsOfALostStoreAreAdopted) {
  RegisterTwo();
  const auto team = FormTeam();
  store = FailingStore();
  Restart();
  Register(1, "n1", 1, {Running(team, 1)});
  EXPECT_EQ(State(team.layout.id), "ready");
  EXPECT_EQ(store.Load()->teams.size(), 1u);
  Register(3, "n3");
  Join(3, 0, 1, 1);
  const auto other = sink.Take<schedule::Prepare>(3);
  EXPECT_GT(other.layout.id, team.layout.id);
  EXPECT_FALSE(coordinator->Node("n2")->connected);
  auto stranger = Running(other, 1);
  stranger.layout.identity.name = "another";
  EXPECT_EQ(Register(2, "n2", 1, {Running(team, 1), stranger}).forgotten, (std::vector<TeamId>{other.layout.id}));
  auto nonsense = Running(team, 1);
  nonsense.layout.id = TeamId{5000};
  EXPECT_EQ(Register(4, "n4", 1, {nonsense}).forgotten, (std::vector<TeamId>{TeamId{5000}}));  // n4 is no member
  Advance(absl::Seconds(60));
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(CoordinatorTest, AdoptedTeamWithALostOrRestartedMemberBreaks) {
  RegisterTwo();
  const auto team = FormTeam();
  store = FailingStore();
  Restart();
  Register(2, "n2", 2);
  Register(1, "n1", 1, {Running(team, 1)});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text, "node n2 restarted (incarnation=1)");
}

TEST_F(CoordinatorTest, StoreWithTwoIncarnationsOfANodeKeepsTheNewer) {
  RegisterTwo();
  const auto first = FormTeam("a");
  coordinator->OnDisconnected(2);
  Register(2, "n2", 7);
  sink.sent.clear();
  const auto second = FormTeam("b");
  TeamRecord record = store.Load()->teams.at(first.layout.id);
  record.broken = false;  // as if the planner had died before it noticed
  ASSERT_TRUE(store.SaveTeam(record).ok());
  Restart();
  EXPECT_EQ(State(first.layout.id), "broken");
  EXPECT_EQ(coordinator->Team(first.layout.id)->why, "node n2 restarted (incarnation=1)");
  EXPECT_EQ(State(second.layout.id), "ready");
}

// --- Epoch switch ---

class EpochSwitchTest : public CoordinatorTest {
 protected:
  EpochSwitchTest() {
    RegisterTwo();
    team = FormTeam();
  }
  void Replan(PlanOptions plan_options = {}) {
    result.reset();
    coordinator->ReplanTeam(team.layout.id, plan_options, [this](const absl::Status& status) { result = status; });
  }
  std::string Refusal() {
    Replan();
    return result.has_value() ? std::string(result->message()) : "none";
  }
  std::string Name() const { return absl::StrCat("team ", team.layout.id.value(), ": "); }

  schedule::Prepare team;
  std::optional<absl::Status> result;
};

TEST_F(EpochSwitchTest, CommitsBeyondTheFurthestNode) {
  Replan({.algorithm = "knomial-4"});
  const auto p1 = sink.Take<schedule::Prepare>(1), p2 = sink.Take<schedule::Prepare>(2);
  EXPECT_EQ(p1.epoch, EpochId{2});
  EXPECT_TRUE(p1.requests.empty());
  EXPECT_EQ(coordinator->Team(team.layout.id)->epoch, EpochId{1});
  coordinator->OnMessage(1, Accept(p1, 0, 100));
  coordinator->OnMessage(2, Accept(p2, 1, 104));
  for (const SessionId session : {1, 2}) {
    const auto commit = sink.Take<schedule::Commit>(session);
    EXPECT_EQ(commit.first_call, CallSeq{104 + 8 + 1});
    EXPECT_EQ(commit.epoch, EpochId{2});
  }
  EXPECT_EQ(store.Load()->teams.at(team.layout.id).epoch, EpochId{2});
  coordinator->OnMessage(1, schedule::CommitReply{team.layout.id, EpochId{2}});
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(Refusal(), Name() + "node n2 has not confirmed epoch 2");
  coordinator->OnMessage(2, schedule::CommitReply{team.layout.id, EpochId{2}});
  EXPECT_EQ(coordinator->Plans()[0].plan.algorithm, "knomial-4");
  EXPECT_EQ(coordinator->Plans()[0].epoch, EpochId{2});
}

TEST_F(EpochSwitchTest, TellsTheCallerWhenAllHaveConfirmed) {
  Replan();
  coordinator->OnMessage(1, Accept(sink.Take<schedule::Prepare>(1), 0));
  coordinator->OnMessage(2, Accept(sink.Take<schedule::Prepare>(2), 1));
  coordinator->OnMessage(1, schedule::CommitReply{team.layout.id, EpochId{2}});
  EXPECT_FALSE(result.has_value());
  coordinator->OnMessage(2, schedule::CommitReply{team.layout.id, EpochId{2}});
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->ok());
}

TEST_F(EpochSwitchTest, RefusalTimeoutDisconnectionAndLeavingAbort) {
  Replan();
  auto p1 = sink.Take<schedule::Prepare>(1);
  schedule::PrepareReply refusal{team.layout.id, p1.epoch, false, {Failure::kNoMemory, "full"}, {}, {}};
  coordinator->OnMessage(2, refusal);
  EXPECT_EQ(sink.Take<schedule::Abort>(1).epoch, EpochId{2});
  EXPECT_EQ(result->message(), Name() + "node n2 refused: full");
  EXPECT_EQ(result->code(), absl::StatusCode::kAborted);
  EXPECT_EQ(State(team.layout.id), "ready");
  sink.sent.clear();

  Replan();
  p1 = sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(p1.epoch, EpochId{3});  // numbers are not used again: late replies to 2 must not count
  coordinator->OnMessage(2, schedule::PrepareReply{team.layout.id, EpochId{2}, true, {}, {{NodeIndex{0}, 1}}, {}});
  Advance(absl::Seconds(10));
  EXPECT_EQ(result->message(), Name() + "no answer to prepare within 10s from node n1, n2");
  sink.sent.clear();

  Replan();
  coordinator->OnDisconnected(2);
  EXPECT_EQ(result->message(), Name() + "node n2 lost its connection to the planner");
  EXPECT_EQ(Refusal(), Name() + "node n2 is not connected");
  sink.sent.clear();
  Register(2, "n2", 1, {Running(team, 1, 4)});
  EXPECT_EQ(sink.Take<schedule::Abort>(2).epoch, EpochId{4});
  EXPECT_TRUE(Silent());

  Replan();
  sink.sent.clear();
  coordinator->OnMessage(1, schedule::LeaveTeam{team.layout.id});
  EXPECT_EQ(result->message(), Name() + "node n1 left the team");
  EXPECT_EQ(sink.Take<schedule::Abort>(2).epoch, EpochId{5});
  EXPECT_EQ(Refusal(), Name() + "node n1 has left it");
  EXPECT_EQ(store.Load()->teams.at(team.layout.id).epoch, EpochId{1});
}

TEST_F(EpochSwitchTest, IsRefusedWhereItMakesNoSense) {
  coordinator->ReplanTeam(TeamId{99}, {}, [this](const absl::Status& status) { result = status; });
  EXPECT_EQ(result->message(), "team 99: not known");
  plan_maker.error = absl::InvalidArgumentError("no algorithm x");
  EXPECT_EQ(Refusal(), "no algorithm x");
  plan_maker.error = absl::OkStatus();
  Replan();
  EXPECT_EQ(Refusal(), Name() + "is being replanned already");
  coordinator->OnMessage(1, schedule::TeamBroken{team.layout.id, {Failure::kMemberLost, "y"}});
  EXPECT_EQ(Refusal(), Name() + "broken: y");
  sink.sent.clear();
  Join(1, 0, 1, 5, "forming");
  team = sink.Take<schedule::Prepare>(1);
  EXPECT_EQ(Refusal(), Name() + "is still forming");
}

TEST_F(EpochSwitchTest, WhatMayPassIsTriedAgainForAWhile) {
  const auto replan = [&] {
    result.reset();
    sink.sent.clear();
    coordinator->ReplanTeam(
        team.layout.id, {}, [this](const absl::Status& status) { result = status; }, absl::Seconds(5));
  };
  // A node is away, and comes back.
  coordinator->OnDisconnected(2);
  replan();
  EXPECT_FALSE(result.has_value());
  Advance(absl::Seconds(1));
  Register(2, "n2", 1, {Running(team, 1)});
  Advance(absl::Seconds(1));
  coordinator->OnMessage(1, Accept(sink.Take<schedule::Prepare>(1), 0));
  coordinator->OnMessage(2, Accept(sink.Take<schedule::Prepare>(2), 1));
  for (const SessionId session : {1, 2}) {
    coordinator->OnMessage(session, schedule::CommitReply{team.layout.id, sink.Take<schedule::Commit>(session).epoch});
  }
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->ok()) << *result;

  // It stays away.
  coordinator->OnDisconnected(2);
  replan();
  for (int i = 0; i < 4; ++i) Advance(absl::Seconds(1));
  EXPECT_FALSE(result.has_value());
  Advance(absl::Seconds(1));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->message(), Name() + "node n2 is not connected");

  // The team ends meanwhile.
  replan();
  EXPECT_TRUE(coordinator->BreakTeam(team.layout.id, "z").ok());
  Advance(absl::Seconds(1));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->message(), Name() + "broken: broken by an administrator: z");
}

TEST_F(EpochSwitchTest, BreakingWhilePreparingAbortsFirst) {
  Replan();
  sink.sent.clear();
  EXPECT_TRUE(coordinator->BreakTeam(team.layout.id, "z").ok());
  for (const SessionId session : {1, 2}) {
    EXPECT_EQ(sink.Take<schedule::Abort>(session).epoch, EpochId{2});
    sink.Take<schedule::BreakTeam>(session);
  }
  EXPECT_EQ(result->message(), Name() + "broken by an administrator: z");
}

TEST_F(EpochSwitchTest, BreakingAfterTheDecisionIsDataLoss) {
  Replan();
  coordinator->OnMessage(1, Accept(sink.Take<schedule::Prepare>(1), 0));
  coordinator->OnMessage(2, Accept(sink.Take<schedule::Prepare>(2), 1));
  coordinator->OnDisconnected(2);
  Advance(absl::Seconds(10));
  EXPECT_EQ(result->code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(result->message(),
            Name().substr(0, Name().size() - 2) + " broke: node n2 lost: no contact for 10s (incarnation=1)");
}

TEST_F(EpochSwitchTest, RestartAfterTheRecordCommits) {
  Replan();
  coordinator->OnMessage(1, Accept(sink.Take<schedule::Prepare>(1), 0, 7));
  coordinator->OnMessage(2, Accept(sink.Take<schedule::Prepare>(2), 1, 3));
  Restart();
  Register(1, "n1", 1, {Running(team, 2)});  // it had its Commit
  Register(2, "n2", 1, {Running(team, 1, 2)});
  const auto commit = sink.Take<schedule::Commit>(2);
  EXPECT_EQ(commit.first_call, CallSeq{7 + 8 + 1});
  EXPECT_EQ(commit.outgoing[0].label, 201u);
  EXPECT_TRUE(sink.sent[1].empty());
}

TEST_F(EpochSwitchTest, RestartBeforeTheRecordAborts) {
  Replan();
  coordinator->OnMessage(1, Accept(sink.Take<schedule::Prepare>(1), 0, 7));
  Restart();
  Register(1, "n1", 1, {Running(team, 1, 2)});
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.text,
            "the switch was not decided before the connection to the planner was lost");
  EXPECT_EQ(State(team.layout.id), "ready");
}

TEST_F(EpochSwitchTest, AbortedEpochNeverComesAgain) {
  Replan();
  Restart();
  Register(1, "n1", 1, {Running(team, 1)});
  Register(2, "n2", 1, {Running(team, 1)});
  Replan();
  EXPECT_EQ(sink.Take<schedule::Prepare>(1).epoch, EpochId{3});
}

TEST_F(EpochSwitchTest, IsRefusedIfItCannotBeRecorded) {
  store.error = absl::UnavailableError("disk full");
  EXPECT_EQ(Refusal(), "disk full");
  EXPECT_TRUE(Silent());
}

TEST_F(EpochSwitchTest, StoreAheadOrBehindBreaks) {
  coordinator->OnDisconnected(2);
  Register(2, "n2", 1, {Running(team, 2)});
  EXPECT_EQ(sink.Take<schedule::BreakTeam>(1).why.text,
            absl::StrCat("node n2 came back to team ", team.layout.id.value(),
                         " with an epoch that is not recorded (epoch=2, recorded=1)"));
}

TEST_F(EpochSwitchTest, EpochQueryIsAnsweredFromTheRecord) {
  Replan();
  const auto p1 = sink.Take<schedule::Prepare>(1), p2 = sink.Take<schedule::Prepare>(2);
  coordinator->OnMessage(1, schedule::EpochQuery{team.layout.id, EpochId{2}});
  EXPECT_TRUE(Silent());  // not decided: the answer will come
  coordinator->OnMessage(1, Accept(p1, 0));
  coordinator->OnMessage(2, Accept(p2, 1));
  sink.sent.clear();
  coordinator->OnMessage(1, schedule::EpochQuery{team.layout.id, EpochId{2}});
  EXPECT_EQ(sink.Take<schedule::Commit>(1).epoch, EpochId{2});
  coordinator->OnMessage(1, schedule::EpochQuery{team.layout.id, EpochId{3}});
  EXPECT_EQ(sink.Take<schedule::Abort>(1).why.text, "the planner has not decided this epoch");
  coordinator->OnMessage(1, schedule::EpochQuery{TeamId{99}, EpochId{1}});
  EXPECT_EQ(sink.Take<schedule::Abort>(1).team, TeamId{99});
  ASSERT_TRUE(coordinator->BreakTeam(team.layout.id, "").ok());
  sink.sent.clear();
  coordinator->OnMessage(1, schedule::EpochQuery{team.layout.id, EpochId{2}});
  sink.Take<schedule::Commit>(1);
  sink.Take<schedule::BreakTeam>(1);
}

// --- Queries ---

TEST_F(CoordinatorTest, TraceQueryIsAnsweredOnceAndTimed) {
  RegisterTwo();
  std::vector<absl::StatusOr<TraceAnswer>> answers;
  const auto ask = [&](const std::string& node) {
    coordinator->QueryTrace(node, {.from = 7, .records = 100, .last_ns = 5}, absl::Seconds(2),
                            [&](const absl::StatusOr<TraceAnswer>& got) { answers.push_back(got); });
  };
  ask("n1");
  const auto query = sink.Take<schedule::TraceQuery>(1);
  EXPECT_EQ(query.from, 7u);
  EXPECT_EQ(query.records, 100u);
  EXPECT_EQ(query.last_ns, 5);
  const absl::Time asked = clock.Now();
  Advance(absl::Milliseconds(3));
  const schedule::TraceReply reply{.query = query.query, .clock = "c", .next = 9};
  coordinator->OnMessage(2, reply);  // not the one that was asked
  EXPECT_TRUE(answers.empty());
  coordinator->OnMessage(1, reply);
  coordinator->OnMessage(1, reply);  // twice: ignored
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_TRUE(answers[0].ok()) << answers[0].status();
  EXPECT_EQ(answers[0]->reply, reply);
  EXPECT_EQ(answers[0]->asked, asked);
  EXPECT_EQ(answers[0]->heard, asked + absl::Milliseconds(3));

  ask("nowhere");
  ask("n1");
  Advance(absl::Seconds(2));
  ask("n2");
  coordinator->OnDisconnected(2);
  ask("n2");
  ASSERT_EQ(answers.size(), 5u);
  EXPECT_EQ(answers[1].status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(answers[2].status().message(), "node n1: does not answer in time");
  EXPECT_EQ(answers[3].status().message(), "node n2: lost while it was asked");
  EXPECT_EQ(answers[4].status().message(), "node n2: not connected");
}

TEST_F(CoordinatorTest, AMeasurementIsToldToBothAndAnsweredByOne) {
  RegisterTwo();
  std::vector<absl::StatusOr<schedule::MeasureReply>> answers;
  const auto measure = [&](const std::string& from, const std::string& to) {
    coordinator->Measure(from, to, {.pings = 5, .timeout = absl::Seconds(3)},
                         [&](const absl::StatusOr<schedule::MeasureReply>& got) { answers.push_back(got); });
  };
  measure("n1", "n2");
  const auto active = sink.Take<schedule::MeasureQuery>(1);
  const auto passive = sink.Take<schedule::MeasureQuery>(2);
  EXPECT_TRUE(active.active);
  EXPECT_FALSE(passive.active);
  EXPECT_EQ(active.query, passive.query);
  EXPECT_EQ(active.peer.name, "n2");
  EXPECT_EQ(passive.peer.name, "n1");
  EXPECT_EQ(active.pings, 5u);
  EXPECT_EQ(active.timeout_ns, 3'000'000'000);
  const schedule::MeasureReply reply{.query = active.query, .why = {}, .pings = 5, .round_trip_ns = 70};
  coordinator->OnMessage(2, reply);  // not its turn
  EXPECT_TRUE(answers.empty());
  coordinator->OnMessage(1, reply);
  coordinator->OnMessage(1, reply);  // twice: ignored
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_TRUE(answers[0].ok()) << answers[0].status();
  EXPECT_EQ(*answers[0], reply);

  measure("n1", "n1");
  measure("n1", "nowhere");
  measure("n1", "n2");
  schedule::MeasureReply failed{.query = sink.Take<schedule::MeasureQuery>(1).query,
                                .why = {schedule::Failure::kTimedOut, "no answer within 3s"}};
  coordinator->OnMessage(1, failed);
  measure("n1", "n2");
  failed.query = sink.Take<schedule::MeasureQuery>(1).query;
  failed.why = {schedule::Failure::kMemberLost, "reset"};
  coordinator->OnMessage(1, failed);
  measure("n1", "n2");
  Advance(absl::Seconds(4));  // neither daemon says anything
  measure("n1", "n2");
  coordinator->OnDisconnected(2);  // the passive one
  measure("n1", "n2");
  const std::vector<std::pair<absl::StatusCode, std::string>> expected = {
      {absl::StatusCode::kInvalidArgument, "node n1: cannot measure to itself"},
      {absl::StatusCode::kNotFound, "node nowhere: not known"},
      {absl::StatusCode::kDeadlineExceeded, "node n1 to node n2: no answer within 3s"},
      {absl::StatusCode::kUnavailable, "node n1 to node n2: reset"},
      {absl::StatusCode::kDeadlineExceeded, "node n1: does not answer in time"},
      {absl::StatusCode::kUnavailable, "node n2: lost while it measured"},
      {absl::StatusCode::kUnavailable, "node n2: not connected"}};
  ASSERT_EQ(answers.size(), expected.size() + 1);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(answers[i + 1].status().code(), expected[i].first);
    EXPECT_EQ(answers[i + 1].status().message(), expected[i].second);
  }
}

TEST_F(CoordinatorTest, ADaemonThatCannotMeasureIsNotAsked) {
  coordinator->OnConnected(1);
  schedule::Register message{.node = Announce("n1", 1), .teams = {}};
  message.node.formats.proto = 2;
  coordinator->OnMessage(1, message);
  Register(2, "n2");
  absl::Status refused;
  coordinator->Measure("n2", "n1", {},
                       [&](const absl::StatusOr<schedule::MeasureReply>& got) { refused = got.status(); });
  EXPECT_EQ(refused.message(), "node n1: its daemon is too old (proto=2, limit=3)");
}

TEST_F(CoordinatorTest, StatusQueryWaitsForAllOrTheDeadline) {
  RegisterTwo();
  Register(3, "n3");
  std::optional<StatusAnswer> answer;
  const auto ask = [&](const std::vector<std::string>& nodes) {
    answer.reset();
    coordinator->QueryStatus(nodes, absl::Seconds(2), [&](const StatusAnswer& got) { answer = got; });
  };
  const auto reply = [&](SessionId session) {
    schedule::StatusReply message;
    message.query = sink.Take<schedule::StatusQuery>(session).query;
    message.status.clients = session;
    coordinator->OnMessage(session, message);
    coordinator->OnMessage(session, message);  // twice: ignored
  };
  ask({});
  reply(2);
  reply(1);
  EXPECT_FALSE(answer.has_value());
  Advance(absl::Seconds(2));
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->nodes.size(), 2u);
  EXPECT_EQ(answer->nodes[0].node, "n1");
  EXPECT_EQ(answer->nodes[1].clients, 2u);
  EXPECT_EQ(answer->silent, (std::vector<std::string>{"n3"}));
  sink.sent.clear();
  ask({"n1", "nowhere"});
  reply(1);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->silent, (std::vector<std::string>{"nowhere"}));
  ask({"n2"});
  coordinator->OnDisconnected(2);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->silent, (std::vector<std::string>{"n2"}));
  ask({"n2"});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(coordinator->NextDeadline(), clock.Now() + absl::Seconds(10));  // only n2's loss is left
}

TEST_F(CoordinatorTest, CallsAreMergedByTeamAndSequence) {
  RegisterTwo();
  const auto team = FormTeam();  // rank 0 on n1, rank 1 on n2
  StatusAnswer answer;
  answer.nodes.resize(2);
  answer.nodes[0].node = "n1";
  answer.nodes[1].node = "n2";
  const auto call = [&](uint64_t sequence, double age, std::vector<Rank> joined, std::vector<Rank> missing) {
    return schedule::CallStatus{team.layout.id, CallSeq{sequence}, {}, age, joined, missing};
  };
  answer.nodes[0].calls = {call(4, 9, {Rank{0}}, {}), call(5, 7, {Rank{0}}, {}), call(6, 5, {Rank{0}}, {})};
  answer.nodes[0].progress = {{team.layout.id, Rank{0}, CallSeq{7}}};
  answer.nodes[1].calls = {call(5, 8, {}, {Rank{1}})};
  answer.nodes[1].progress = {{team.layout.id, Rank{1}, CallSeq{5}}};
  auto merged = coordinator->MergeCalls(answer);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_TRUE(merged[0].missing.empty());  // rank 1 is done with call 4
  EXPECT_EQ(merged[1].joined, (std::vector<Rank>{Rank{0}}));
  EXPECT_EQ(merged[1].missing, (std::vector<Rank>{Rank{1}}));
  EXPECT_EQ(merged[1].age_s, 8);
  EXPECT_EQ(merged[2].missing, (std::vector<Rank>{Rank{1}}));  // it has not come so far
  answer.nodes[1].progress.clear();                            // it has left the team
  EXPECT_TRUE(coordinator->MergeCalls(answer)[2].missing.empty());
  answer.nodes.resize(1);  // nothing is known of n2
  EXPECT_EQ(coordinator->MergeCalls(answer)[0].missing, (std::vector<Rank>{Rank{1}}));
}

TEST_F(CoordinatorTest, AdministrationErrors) {
  EXPECT_EQ(coordinator->SetDraining("x", true).message(), "node x: not known");
  EXPECT_EQ(coordinator->Node("x").status().message(), "node x: not known");
  Register(1, "n1");
  store.error = absl::UnavailableError("disk full");
  EXPECT_EQ(coordinator->SetDraining("n1", true).message(), "disk full");
  EXPECT_EQ(coordinator->Node("n1")->state, "ready");
}

TEST_F(CoordinatorTest, NewTimeoutsHoldForWhatBegins) {
  options.node_timeout = absl::Seconds(1);
  coordinator->SetTimeouts(options);
  Register(1, "n1");
  coordinator->OnDisconnected(1);
  Advance(absl::Seconds(1));
  EXPECT_EQ(coordinator->Node("n1")->state, "lost");
}

}  // namespace
}  // namespace copse::coordinator
