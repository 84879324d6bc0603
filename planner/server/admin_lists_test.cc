// SPDX-License-Identifier: Apache-2.0
//
// Lists for administrators, whole and in pieces, and what selects their rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/histogram.h"
#include "base/testing/status_matchers.h"
#include "planner/admin/status_lists.h"
#include "planner/server/testing/planner_life.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"
#include "rpc/status.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

using Stub = v1::AdminService::Stub;

// Returns the pieces of a stream, merged.
template <typename Request, typename Reply>
absl::StatusOr<Reply> Collect(const Life& life,
                              std::unique_ptr<grpc::ClientReader<Reply>> (Stub::*method)(grpc::ClientContext*,
                                                                                         const Request&),
                              const Request& request) {
  const auto stub = v1::AdminService::NewStub(life.Channel());
  grpc::ClientContext context;
  const auto reader = (stub.get()->*method)(&context, request);
  Reply all, piece;
  while (reader->Read(&piece)) all.MergeFrom(piece);
  const grpc::Status status = reader->Finish();
  if (!status.ok()) return rpc::FromGrpc(status);
  return all;
}

// Three nodes, n0 to n2, and a team on each: of user 1 and job "a", user 1 and job "b", user 2 and job "b".
class AdminListsTest : public ::testing::Test {
 protected:
  AdminListsTest() {
    for (uint32_t i = 0; i < 3; ++i) AddNode(i < 2 ? 1 : 2, i < 1 ? "a" : "b");
  }
  void AddNode(uint32_t uid, const std::string& job) {
    const size_t i = daemons_.size();
    daemons_.push_back(std::make_unique<PlayedDaemon>(life_));
    daemons_[i]->Register(absl::StrCat("n", i), {}, {schedule::Feature::kPlanCalls});
    schedule::JoinTeam join = Alone(i + 1, absl::StrCat("team", i));
    join.identity.uid = uid;
    join.identity.job = job;
    daemons_[i]->Send(join);
    daemons_[i]->RunEpoch();
  }
  std::string Nodes(const v1::ListNodesRequest& request) {
    const auto reply = Collect(life_, &Stub::StreamNodes, request);
    if (!reply.ok()) return std::string(reply.status().message());
    std::vector<std::string> names;
    for (const v1::NodeRow& row : reply->nodes()) names.push_back(row.name());
    return absl::StrJoin(names, " ");
  }
  std::string Teams(const v1::ListTeamsRequest& request) {
    const auto reply = Collect(life_, &Stub::StreamTeams, request);
    if (!reply.ok()) return std::string(reply.status().message());
    std::vector<std::string> names;
    for (const v1::TeamRow& row : reply->teams()) names.push_back(row.name());
    return absl::StrJoin(names, " ");
  }

  Life life_{""};
  std::vector<std::unique_ptr<PlayedDaemon>> daemons_;
};

TEST_F(AdminListsTest, PiecesAreTheWhole) {
  // What a node was last seen at differs between two calls; all are connected.
  EXPECT_EQ(Collect(life_, &Stub::StreamNodes, {})->SerializeAsString(),
            List(life_, &Stub::ListNodes).SerializeAsString());
  const v1::ListTeamsReply teams = List(life_, &Stub::ListTeams);
  EXPECT_EQ(teams.teams_size(), 3);
  EXPECT_EQ(Collect(life_, &Stub::StreamTeams, {})->SerializeAsString(), teams.SerializeAsString());
  const v1::ListPlansReply plans = List(life_, &Stub::ListPlans);
  EXPECT_GT(plans.plans_size(), 3);
  EXPECT_EQ(Collect(life_, &Stub::StreamPlans, {})->SerializeAsString(), plans.SerializeAsString());
  // The daemons do not answer.
  v1::GetStatsRequest stats;
  stats.set_timeout_s(0.05);
  EXPECT_EQ(Collect(life_, &Stub::StreamStats, stats)->silent_size(), 3);
  v1::ListCollectivesRequest calls;
  calls.set_timeout_s(0.05);
  EXPECT_EQ(Collect(life_, &Stub::StreamCollectives, calls)->silent_size(), 3);
}

TEST_F(AdminListsTest, CallsAreAskedOfTheSelectedTeamsNodesOnly) {
  v1::ListCollectivesRequest calls;
  calls.set_timeout_s(0.05);
  const auto silent = [this, &calls] {
    const auto reply = Collect(life_, &Stub::StreamCollectives, calls);
    return reply.ok() ? absl::StrJoin(reply->silent(), " ") : reply.status().ToString();
  };
  calls.mutable_selector()->set_uid(1);
  EXPECT_EQ(silent(), "n0 n1");
  calls.mutable_selector()->set_nodes("n1");
  EXPECT_EQ(silent(), "n1");
  calls.mutable_selector()->set_job("none");
  EXPECT_EQ(silent(), "");
}

TEST_F(AdminListsTest, NodesAreSelectedByNameAndState) {
  v1::ListNodesRequest request;
  EXPECT_EQ(Nodes(request), "n0 n1 n2");
  request.mutable_selector()->set_nodes("n[1-7]");
  EXPECT_EQ(Nodes(request), "n1 n2");
  v1::DrainNodeRequest drain;
  drain.set_node("n2");
  v1::DrainNodeReply drained;
  ASSERT_TRUE(Ask(life_, &Stub::DrainNode, drain, &drained).ok());
  request.mutable_selector()->set_state("draining");
  EXPECT_EQ(Nodes(request), "n2");
  request.mutable_selector()->set_state("up");
  EXPECT_THAT(Collect(life_, &Stub::StreamNodes, request),
              FailsWith(absl::StatusCode::kInvalidArgument, "state=up", "known=ready draining away lost"));
}

TEST_F(AdminListsTest, TeamsAndPlansAreSelectedByNodeUserAndJob) {
  v1::ListTeamsRequest request;
  request.mutable_selector()->set_uid(1);
  EXPECT_EQ(Teams(request), "team0 team1");
  request.mutable_selector()->set_job("b");
  EXPECT_EQ(Teams(request), "team1");
  request.mutable_selector()->set_nodes("n2");
  EXPECT_EQ(Teams(request), "");
  v1::ListPlansRequest plans;
  const int all = Collect(life_, &Stub::StreamPlans, plans)->plans_size();
  plans.mutable_selector()->set_nodes("n2");
  EXPECT_EQ(Collect(life_, &Stub::StreamPlans, plans)->plans_size(), all / 3);
  plans.mutable_selector()->set_job("none");
  EXPECT_EQ(Collect(life_, &Stub::StreamPlans, plans)->plans_size(), 0);
  plans.set_team(77);
  EXPECT_EQ(Collect(life_, &Stub::StreamPlans, plans).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(AdminListsTest, TeamsThatHaveEndedAreRemembered) {
  v1::ListTeamsRequest ended;
  ended.set_ended(true);
  EXPECT_EQ(Teams(ended), "");
  v1::ListTeamsRequest running;
  running.set_without_calls(true);
  const auto teams = Collect(life_, &Stub::StreamTeams, running);
  ASSERT_TRUE(teams.ok()) << teams.status();
  for (const v1::TeamRow& row : teams->teams()) {
    if (row.name() == "team0") continue;
    PlayedDaemon& daemon = *daemons_[row.name() == "team1" ? 1 : 2];
    if (row.name() == "team2") {
      daemon.Send(schedule::TeamBroken{TeamId(row.id()), {schedule::Failure::kMemberLost, "rank 0 was killed"}});
    }
    daemon.Send(schedule::LeaveTeam{TeamId(row.id())});
    daemon.Await<schedule::EndTeam>();
  }
  EXPECT_EQ(Teams(running), "team0");
  EXPECT_EQ(Teams(ended), "team1 team2");
  ended.mutable_selector()->set_state("broken");
  const auto broken = Collect(life_, &Stub::StreamTeams, ended);
  ASSERT_TRUE(broken.ok()) << broken.status();
  ASSERT_EQ(broken->teams_size(), 1);
  EXPECT_EQ(broken->teams(0).why(), "rank 0 was killed");
  EXPECT_EQ(broken->teams(0).members(0).node(), "n2");
  absl::Time when;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, broken->teams(0).ended(), &when, nullptr))
      << broken->teams(0).ended();
  EXPECT_LT(absl::AbsDuration(absl::Now() - when), absl::Minutes(1));
  ended.mutable_selector()->set_state("ready");
  EXPECT_THAT(Collect(life_, &Stub::StreamTeams, ended).status(),
              FailsWith(absl::StatusCode::kInvalidArgument, "ready", "ended"));
  ended.mutable_selector()->clear_state();
  ended.mutable_selector()->set_nodes("n1");
  EXPECT_EQ(Teams(ended), "team1");
}

TEST_F(AdminListsTest, StatsAreOfTheNodesOfAHostList) {
  v1::GetStatsRequest request;
  request.set_timeout_s(0.05);
  request.mutable_selector()->set_nodes("n[1-3]");
  const auto reply = Collect(life_, &Stub::StreamStats, request);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(absl::StrJoin(reply->silent(), " "), "n1 n2 n3");
  request.mutable_selector()->set_job("b");
  EXPECT_THAT(Collect(life_, &Stub::StreamStats, request),
              FailsWith(absl::StatusCode::kInvalidArgument, "job=b", "allowed=node"));
}

TEST_F(AdminListsTest, NodesAreAskedForCallsThatAreWantedAndOfTheirTeams) {
  v1::ListTeamsRequest list;
  list.set_without_calls(true);
  const auto teams = Collect(life_, &Stub::StreamTeams, list);
  ASSERT_TRUE(teams.ok()) << teams.status();
  v1::ShowTeamRequest show;
  for (const v1::TeamRow& team : teams->teams()) {
    if (team.name() == "team1") show.set_id(team.id());
  }
  v1::ShowTeamReply shown;
  std::thread asks([this, &show, &shown] { EXPECT_TRUE(Ask(life_, &Stub::ShowTeam, show, &shown).ok()); });
  const auto query = daemons_[1]->Await<schedule::StatusQuery>();
  daemons_[1]->Send(schedule::StatusReply{.query = query.query, .status = {.node = "n1"}});
  asks.join();
  EXPECT_EQ(shown.team().name(), "team1");
  EXPECT_TRUE(shown.team().has_calls());
  show.set_without_calls(true);
  EXPECT_TRUE(Ask(life_, &Stub::ShowTeam, show, &shown).ok());
  EXPECT_EQ(shown.team().members_size(), 1);
  EXPECT_FALSE(shown.team().has_calls());
  v1::GetStatsRequest of_other;
  of_other.set_node("n0");
  v1::GetStatsReply stats;
  std::thread asks_other(
      [this, &of_other, &stats] { EXPECT_TRUE(Ask(life_, &Stub::GetStats, of_other, &stats).ok()); });
  const auto next = daemons_[0]->Await<schedule::StatusQuery>();
  daemons_[0]->Send(schedule::StatusReply{.query = next.query, .status = {.node = "n0"}});
  asks_other.join();
  EXPECT_EQ(stats.stats_size(), 1);
}

// Returns n1's answer after 10 broadcasts of 64 bytes that took 5 ms each.
schedule::DaemonStatus SlowBroadcasts() {
  constexpr uint64_t kNs = 5'000'000;
  return {.node = "n1",
          .clients = 1,
          .teams = 1,
          .latencies = {{.collective = Collective::kBcast,
                         .bytes_min = 64,
                         .bytes_max = 127,
                         .part = schedule::CallPart::kCall,
                         .sum_ns = 10 * kNs,
                         .min_ns = kNs,
                         .max_ns = kNs,
                         .buckets = {{Histogram::BucketOf(kNs), 10}}}}};
}

TEST_F(AdminListsTest, PlansHaveWhatTheirCallsTookIfThatIsAskedFor) {
  v1::ListPlansRequest list;
  list.mutable_selector()->set_nodes("n1");
  const auto plain = Collect(life_, &Stub::StreamPlans, list);
  ASSERT_TRUE(plain.ok()) << plain.status();
  for (const v1::PlanRow& plan : plain->plans()) EXPECT_FALSE(plan.has_measured());
  list.set_measured(true);
  list.set_without_edges(true);
  TeamId asked_of(0);
  std::vector<schedule::PlanCalls> made;
  const auto answer = [&] {
    const auto query = daemons_[1]->Await<schedule::StatusQuery>();
    EXPECT_TRUE(query.latencies);
    asked_of = query.calls_of;
    schedule::DaemonStatus status = SlowBroadcasts();
    status.plan_calls = made;
    daemons_[1]->Send(schedule::StatusReply{.query = query.query, .status = status});
  };
  std::thread answers(answer);
  const auto measured = Collect(life_, &Stub::StreamPlans, list);
  answers.join();
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(asked_of, TeamId(0)) << "several teams were listed";
  uint64_t id = 0, team = 0;
  for (const v1::PlanRow& plan : measured->plans()) {
    team = plan.team();
    EXPECT_EQ(plan.has_measured(), plan.collective() == "bcast" && plan.bytes_min() <= 64 && 64 <= plan.bytes_max());
    if (!plan.has_measured()) continue;
    id = plan.id();
    EXPECT_EQ(plan.predicted_bytes(), 64u);
    EXPECT_GT(plan.predicted_us(), 0);
    EXPECT_EQ(plan.measured().median_us(), 5000);
    EXPECT_EQ(plan.measured().node(), "n1");
    EXPECT_NE(plan.measured().why().find("figures=defaults"), std::string::npos) << plan.measured().why();
  }
  ASSERT_NE(id, 0u);
  // The calls by each plan are known of one team alone.
  list.set_team(team);
  for (const bool is_used : {false, true}) {
    made.clear();
    if (is_used) made = {{PlanId(id), 10}};
    std::thread answers_for_team(answer);
    const auto of_team = Collect(life_, &Stub::StreamPlans, list);
    answers_for_team.join();
    ASSERT_TRUE(of_team.ok()) << of_team.status();
    EXPECT_EQ(asked_of, TeamId(team));
    for (const v1::PlanRow& plan : of_team->plans()) EXPECT_EQ(plan.has_measured(), is_used && plan.id() == id);
  }
  v1::ExplainPlanRequest explain;
  explain.set_id(id);
  explain.set_measured(true);
  v1::ExplainPlanReply explained;
  std::thread again(answer);
  EXPECT_TRUE(Ask(life_, &Stub::ExplainPlan, explain, &explained).ok());
  again.join();
  EXPECT_NE(explained.text().find("count 64"), std::string::npos) << explained.text();
  EXPECT_EQ(explained.plan().measured().median_us(), 5000);
}

TEST_F(AdminListsTest, WhatAListCostsIsBounded) {
  while (daemons_.size() <= StatusLists::kAskedNodesMax) AddNode(2, "c");
  v1::ListTeamsRequest request;
  const auto all = Collect(life_, &Stub::StreamTeams, request);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->teams_size(), static_cast<int>(daemons_.size()));
  for (const v1::TeamRow& team : all->teams()) EXPECT_FALSE(team.has_calls()) << team.name();
  // Only the nodes of the selected teams count, and are asked.
  request.mutable_selector()->set_job("a");
  std::thread answers([this] {
    const auto query = daemons_[0]->Await<schedule::StatusQuery>();
    daemons_[0]->Send(schedule::StatusReply{.query = query.query, .status = {.node = "n0"}});
  });
  const auto one = Collect(life_, &Stub::StreamTeams, request);
  answers.join();
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->teams_size(), 1);
  EXPECT_TRUE(one->teams(0).has_calls());
  // So it is with critical paths.
  const auto plans = Collect(life_, &Stub::StreamPlans, v1::ListPlansRequest());
  ASSERT_TRUE(plans.ok()) << plans.status();
  const auto has_path = [](const v1::PlanRow& plan) { return plan.critical_path_size() > 0; };
  EXPECT_GT(plans->plans_size(), 256);
  EXPECT_EQ(std::count_if(plans->plans().begin(), plans->plans().end(), has_path), 64);
}

}  // namespace
}  // namespace copse::planner
