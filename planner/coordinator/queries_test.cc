// SPDX-License-Identifier: Apache-2.0
//
// Queries and changes by administrators.
#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using absl::StatusCode;
using testing::FailsWith;
using testing::Names;

constexpr auto kInvalid = StatusCode::kInvalidArgument;

TEST_F(TwoNodesTest, TraceQueryIsAnsweredOnceAndTimed) {
  std::vector<absl::StatusOr<TraceAnswer>> answers;
  const auto ask = [&](const std::string& node) {
    coordinator->queries().QueryTrace(node, {.from = 7, .records = 100, .last_ns = 5}, absl::Seconds(2),
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
  coordinator->OnMessage(2, reply);  // not the node that was queried
  EXPECT_TRUE(answers.empty());
  coordinator->OnMessage(1, reply);
  coordinator->OnMessage(1, reply);  // repeated: ignored
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
  EXPECT_EQ(answers[1].status().code(), StatusCode::kNotFound);
  EXPECT_THAT(answers[2], FailsWith(StatusCode::kDeadlineExceeded, "node n1"));
  EXPECT_THAT(answers[3], FailsWith(StatusCode::kUnavailable, "node n2"));
  EXPECT_THAT(answers[4], FailsWith(StatusCode::kUnavailable, "node n2"));
}

TEST_F(TwoNodesTest, ADaemonThatCannotLeaveRecordsOutIsNotAskedForAnOwner) {
  schedule::Register able{.node = Announce("able", 3)};
  able.node.features.insert(schedule::Feature::kOwnTrace);
  RegisterAs(3, able);
  absl::Status ended;
  const auto ask = [&](const std::string& node) {
    coordinator->queries().QueryTrace(node, {.records = 100, .owner = 0}, absl::Seconds(2),
                                      [&](const absl::StatusOr<TraceAnswer>& got) { ended = got.status(); });
  };
  ask("n1");
  EXPECT_THAT(ended, FailsWith(StatusCode::kFailedPrecondition, "node n1", absl::StrCat("version=", kVersion)));
  EXPECT_TRUE(sink.sent[1].empty());
  ask("able");
  EXPECT_EQ(sink.Take<schedule::TraceQuery>(3).owner, 0u);
}

TEST_F(TwoNodesTest, AMeasurementIsToldToBothAndAnsweredByOne) {
  std::vector<absl::StatusOr<schedule::MeasureReply>> answers;
  const auto measure = [&](const std::string& from, const std::string& to) {
    coordinator->queries().Measure(from, to, {.pings = 5, .timeout = absl::Seconds(3)},
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
  coordinator->OnMessage(1, reply);  // repeated: ignored
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
  Advance(absl::Seconds(4));  // neither daemon answers
  measure("n1", "n2");
  coordinator->OnDisconnected(2);  // the passive node
  measure("n1", "n2");
  const std::vector<std::pair<StatusCode, std::string>> expected = {
      {kInvalid, "node n1"},
      {StatusCode::kNotFound, "node nowhere"},
      {StatusCode::kDeadlineExceeded, "node n1 to node n2: no answer within 3s"},
      {StatusCode::kUnavailable, "node n1 to node n2: reset"},
      {StatusCode::kDeadlineExceeded, "node n1"},
      {StatusCode::kUnavailable, "node n2"},
      {StatusCode::kUnavailable, "node n2"}};
  ASSERT_EQ(answers.size(), expected.size() + 1);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_THAT(answers[i + 1], FailsWith(expected[i].first, expected[i].second));
  }
}

TEST_F(TwoNodesTest, StatusQueryWaitsForAllOrTheDeadline) {
  Register(3, "n3");
  std::optional<StatusAnswer> answer;
  const auto ask = [&](const std::vector<std::string>& nodes) {
    answer.reset();
    coordinator->queries().QueryStatus(nodes, absl::Seconds(2), [&](const StatusAnswer& got) { answer = got; });
  };
  const auto reply = [&](SessionId session) {
    schedule::StatusReply message;
    message.query = sink.Take<schedule::StatusQuery>(session).query;
    message.status.clients = session;
    coordinator->OnMessage(session, message);
    coordinator->OnMessage(session, message);  // repeated: ignored
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
  EXPECT_EQ(coordinator->NextDeadline(),
            clock.Now() + options.forget_records / 4);  // only the collection of n2's records is due
}

TEST_F(CoordinatorTest, ManyNodesAreAskedByAndBy) {
  constexpr size_t kNodes = 5000;
  for (SessionId session = 1; session <= kNodes; ++session) Register(session, absl::StrCat("n", session));
  size_t replies = 0;
  std::optional<std::vector<std::string>> silent;
  coordinator->queries().QueryStatusOfEach(
      {}, absl::Seconds(2), [&](const schedule::DaemonStatus& status) { replies += status.node == "n2" ? 1 : 0; },
      [&](std::vector<std::string> nodes) { silent = std::move(nodes); });
  const auto asked = [&] {
    size_t count = 0;
    for (SessionId session = 1; session <= kNodes; ++session) {
      for (const auto& message : sink.sent[session]) count += std::holds_alternative<schedule::StatusQuery>(message);
    }
    return count;
  };
  const size_t first = asked();
  EXPECT_GT(first, 0u);
  EXPECT_LT(first, kNodes / 2);
  coordinator->OnDisconnected(kNodes);
  while (asked() < kNodes - 1) {
    ASSERT_FALSE(silent.has_value());
    Advance(absl::Milliseconds(1));
  }
  schedule::StatusReply message;
  message.query = sink.Take<schedule::StatusQuery>(2).query;
  coordinator->OnMessage(2, message);
  EXPECT_EQ(replies, 1u);
  EXPECT_FALSE(silent.has_value());
  Advance(absl::Seconds(2));
  ASSERT_TRUE(silent.has_value());
  EXPECT_EQ(silent->size(), kNodes - 1) << "all but n2, also the one that has gone";
  EXPECT_TRUE(std::is_sorted(silent->begin(), silent->end()));
}

TEST_F(TwoNodesTest, ListsCanBeReadRowByRow) {
  for (int i = 0; i < 3; ++i) FormTeam();
  schedule::JoinTeam join{.request = 100, .identity = {.uid = 1, .name = "forming"}, .rank = Rank(0), .size = 2};
  coordinator->OnMessage(1, join);
  join.request = 101;
  join.identity.name = "forms too";
  coordinator->OnMessage(1, join);
  std::vector<std::string> nodes;
  for (auto node = coordinator->view().NodeAfter(""); node; node = coordinator->view().NodeAfter(nodes.back())) {
    nodes.push_back(node->announcement->name);
  }
  EXPECT_EQ(nodes, (std::vector<std::string>{"n1", "n2"}));
  std::vector<TeamInfo> teams;
  for (auto team = coordinator->view().TeamAfter(nullptr); team;
       team = coordinator->view().TeamAfter(&teams.back().layout)) {
    teams.push_back(*team);
  }
  const std::vector<TeamInfo> all = coordinator->view().Teams();
  ASSERT_EQ(teams.size(), all.size());
  ASSERT_EQ(teams.size(), 5u);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(teams[i].layout, all[i].layout);
    EXPECT_EQ(teams[i].state, all[i].state);
  }
  const auto any = [](const schedule::TeamLayout&) { return true; };
  const auto second = [&](const schedule::TeamLayout& layout) { return layout.id == teams[3].layout.id; };
  std::vector<PlanId> plans, of_second;
  PlanCursor cursor;
  while (const auto plan = coordinator->view().PlanAfter(&cursor, any)) plans.push_back(plan->id);
  std::vector<PlanId> expected;
  for (const PlanInfo& plan : coordinator->view().Plans()) expected.push_back(plan.plan.id);
  EXPECT_EQ(plans, expected);
  FormTeam();  // its plans are listed, too, by the list that has come to its end
  EXPECT_TRUE(coordinator->view().PlanAfter(&cursor, any).has_value());
  cursor = PlanCursor();
  while (const auto plan = coordinator->view().PlanAfter(&cursor, second)) of_second.push_back(plan->id);
  std::vector<PlanId> of_team;
  for (const schedule::Plan& plan : coordinator->view().PlansOfTeam(teams[3].layout.id)) of_team.push_back(plan.id);
  EXPECT_EQ(of_second, of_team);
  EXPECT_FALSE(of_second.empty());
}

TEST_F(TwoNodesTest, CallsAreMergedByTeamAndSequence) {
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
  auto merged = coordinator->view().MergeCalls(answer);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_TRUE(merged[0].missing.empty());  // rank 1 is done with call 4
  EXPECT_EQ(merged[1].joined, (std::vector<Rank>{Rank{0}}));
  EXPECT_EQ(merged[1].missing, (std::vector<Rank>{Rank{1}}));
  EXPECT_EQ(merged[1].age_s, 8);
  EXPECT_EQ(merged[2].missing, (std::vector<Rank>{Rank{1}}));  // it has not reached the call
  answer.nodes[1].progress.clear();                            // it has left the team
  EXPECT_TRUE(coordinator->view().MergeCalls(answer)[2].missing.empty());
  answer.nodes.resize(1);  // nothing is known about n2
  EXPECT_EQ(coordinator->view().MergeCalls(answer)[0].missing, (std::vector<Rank>{Rank{1}}));
}

TEST_F(TeamTest, CallsThatWaitForPlansAreApartFromThoseThatRun) {
  StatusAnswer answer;
  answer.nodes.resize(2);
  answer.nodes[0].node = "n1";
  answer.nodes[1].node = "n2";
  answer.nodes[0].calls = {{.team = team.layout.id, .sequence = CallSeq{0}, .joined = {Rank{0}}},
                           {.team = team.layout.id,
                            .sequence = CallSeq{0},
                            .arguments = {.collective = Collective::kGather},
                            .joined = {Rank{0}},
                            .waits_for = Family::kRooted}};
  // The rank's progress in the team's other calls does not matter.
  answer.nodes[1].progress = {{team.layout.id, Rank{1}, CallSeq{7}}};
  const auto merged = coordinator->view().MergeCalls(answer);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].waits_for, Family::kCommon);
  EXPECT_TRUE(merged[0].missing.empty());
  EXPECT_EQ(merged[1].waits_for, Family::kRooted);
  EXPECT_EQ(merged[1].arguments.collective, Collective::kGather);
  EXPECT_EQ(merged[1].missing, (std::vector<Rank>{Rank{1}}));
}

TEST_F(CoordinatorTest, AdministrationErrors) {
  EXPECT_THAT(SetDraining("x", true), FailsWith(StatusCode::kNotFound, "node x"));
  EXPECT_THAT(coordinator->view().FindNode("x"), FailsWith(StatusCode::kNotFound, "node x"));
  Register(1, "n1");
  store.error = absl::ResourceExhaustedError("disk full");
  EXPECT_EQ(SetDraining("n1", true), store.error);
  EXPECT_EQ(coordinator->view().FindNode("n1")->state, "ready");
}

TEST_F(CoordinatorTest, NewTimeoutsHoldForWhatBegins) {
  options.register_timeout = absl::Seconds(1);
  coordinator->SetLive(options);
  coordinator->OnConnected(1);
  Advance(absl::Seconds(1));
  EXPECT_THAT(sink.closed[1], Names("Register", "1s"));
}

}  // namespace
}  // namespace copse::coordinator
