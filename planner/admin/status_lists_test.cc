// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/status_lists.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"
#include "rpc/status_report.h"

namespace copse::planner {
namespace {

using coordinator::SessionId;

// More nodes than are asked: n1, n2 and so on. Those from `first_earlier_` on are of an earlier version.
class StatusListsTest : public coordinator::CoordinatorTest {
 protected:
  static constexpr SessionId kNodes = StatusLists::kAskedNodesMax + 2;

  void RegisterAll(SessionId first_earlier = kNodes + 1) {
    for (SessionId session = 1; session <= kNodes; ++session) {
      schedule::Register message{.node = coordinator::Announce(Name(session), session)};
      if (session < first_earlier) message.report = rpc::ReportOf(Status(session));
      EXPECT_TRUE(RegisterAs(session, message).accepted);
    }
  }
  static std::string Name(SessionId session) { return absl::StrFormat("n%03d", session); }
  static schedule::DaemonStatus Status(SessionId session) {
    schedule::DaemonStatus status{.node = "another's name", .counters = {{"calls.in_flight", session}}};
    status.latencies.push_back({.sum_ns = session});
    for (const uint32_t uid : {1000, 1001}) status.accounts.push_back({.uid = uid, .job = "secret", .claimed = {"c"}});
    return status;
  }
  static schedule::CallStatus LongCall(TeamId team, std::vector<Rank> joined, std::vector<Rank> missing) {
    return {
        .team = team, .sequence = CallSeq(7), .age_s = 60, .joined = std::move(joined), .missing = std::move(missing)};
  }
  void ReportAgain(SessionId session, schedule::DaemonStatus status) {
    coordinator->OnMessage(session, schedule::TeamsHeld{.report = rpc::ReportOf(std::move(status))});
  }
  // Forms a team of one rank on each of the first nodes.
  TeamId FormTeamOf(uint32_t nodes) {
    for (uint32_t rank = 0; rank < nodes; ++rank) Join(rank + 1, rank, nodes, 1);
    TeamId team{0};
    for (uint32_t node = 0; node < nodes; ++node) {
      const auto prepare = sink.Take<schedule::Prepare>(node + 1);
      team = prepare.layout.id;
      coordinator->OnMessage(node + 1, Accept(prepare, node));
    }
    for (uint32_t node = 0; node < nodes; ++node) {
      const auto commit = sink.Take<schedule::Commit>(node + 1);
      coordinator->OnMessage(node + 1, schedule::CommitReply{commit.team, commit.epoch});
    }
    return team;
  }

  // Returns the whole list as its reader decodes it, after the daemons that are asked have answered.
  template <typename Reply>
  Reply List(const RowWork<Reply>& work) {
    bool has_begun = false;
    Reply all;
    EXPECT_EQ(work([&](RowSource<Reply> source) {
                has_begun = true;
                while (source(&all) > 0) {
                }
              }),
              absl::OkStatus());
    asked_ = 0;
    for (auto& [session, messages] : sink.sent) {
      for (const schedule::ToDaemon& message : std::exchange(messages, {})) {
        const auto* query = std::get_if<schedule::StatusQuery>(&message);
        if (query == nullptr) continue;
        ++asked_;
        coordinator->OnMessage(session, schedule::StatusReply{.query = query->query, .status = answers_[session]});
      }
    }
    EXPECT_TRUE(has_begun);
    Reply read;
    EXPECT_TRUE(read.ParseFromString(all.SerializeAsString()));
    return read;
  }
  v1::GetStatsReply Stats(const v1::GetStatsRequest& request, const rpc::Principal& who = {}, bool is_private = false) {
    StatusLists lists(coordinator.get(), is_private);
    return List<v1::GetStatsReply>(lists.StatsRows(request, who));
  }
  v1::ListCollectivesReply Calls(const v1::ListCollectivesRequest& request = {}) {
    StatusLists lists(coordinator.get(), /*private_data=*/false);
    return List<v1::ListCollectivesReply>(lists.CollectiveRows(request));
  }

  std::map<SessionId, schedule::DaemonStatus> answers_;
  size_t asked_ = 0;  // by the last list
};

TEST_F(StatusListsTest, ManyNodesAreNotAskedButHaveReported) {
  RegisterAll();
  Advance(absl::Seconds(3));
  const v1::GetStatsReply reply = Stats({});
  EXPECT_EQ(asked_, 0u);
  ASSERT_EQ(reply.stats_size(), static_cast<int>(kNodes));
  for (SessionId session = 1; session <= kNodes; ++session) {
    const v1::NodeStats& row = reply.stats(static_cast<int>(session) - 1);
    EXPECT_EQ(row.node(), Name(session));
    EXPECT_EQ(row.age_s(), 3);
    EXPECT_EQ(row.counters().at("calls.in_flight"), session);
    EXPECT_EQ(row.latencies_size() + row.accounts_size(), 0);
  }
  EXPECT_EQ(reply.silent_size(), 0);
}

TEST_F(StatusListsTest, FewNodesAreAsked) {
  RegisterAll();
  answers_[2].counters = {{"calls.in_flight", 99}};
  v1::GetStatsRequest request;
  request.mutable_selector()->set_nodes("n[001-002]");
  const v1::GetStatsReply reply = Stats(request);
  EXPECT_EQ(asked_, 2u);
  ASSERT_EQ(reply.stats_size(), 2);
  EXPECT_EQ(reply.stats(1).counters().at("calls.in_flight"), 99u);
  EXPECT_FALSE(reply.stats(1).has_age_s());
}

TEST_F(StatusListsTest, TheLastReportCountsUntilItsStreamEnds) {
  RegisterAll();
  Advance(absl::Seconds(3));
  ReportAgain(1, {.counters = {{"calls.in_flight", 77}}});
  coordinator->OnDisconnected(3);
  const v1::GetStatsReply reply = Stats({});
  ASSERT_EQ(reply.stats_size(), static_cast<int>(kNodes) - 1);
  EXPECT_EQ(reply.stats(0).counters().at("calls.in_flight"), 77u);
  EXPECT_EQ(reply.stats(0).age_s(), 0);
  EXPECT_EQ(reply.stats(1).age_s(), 3);
  EXPECT_EQ(reply.stats(2).node(), Name(4));
}

TEST_F(StatusListsTest, DaemonsOfEarlierVersionsAreAskedAmongMany) {
  RegisterAll(/*first_earlier=*/kNodes - 1);
  const v1::GetStatsReply reply = Stats({});
  EXPECT_EQ(asked_, 2u);
  ASSERT_EQ(reply.stats_size(), static_cast<int>(kNodes));
  EXPECT_EQ(reply.stats(static_cast<int>(kNodes) - 1).node(), Name(kNodes));
  EXPECT_FALSE(reply.stats(static_cast<int>(kNodes) - 1).has_age_s());
}

TEST_F(StatusListsTest, LatenciesAndAccountsAreThereIfTheyAreWanted) {
  RegisterAll();
  v1::GetStatsRequest request;
  request.set_latencies(true);
  EXPECT_EQ(Stats(request).stats(1).latencies(0).sum_ns(), 2u);
  request.set_accounts(true);
  const v1::GetStatsReply reply = Stats(request);
  ASSERT_EQ(reply.stats(1).accounts_size(), 2);
  EXPECT_EQ(reply.stats(1).accounts(1).job(), "secret");
}

TEST_F(StatusListsTest, OthersJobsStayPrivate) {
  RegisterAll();
  v1::GetStatsRequest request;
  request.set_accounts(true);
  const v1::GetStatsReply reply = Stats(request, {.role = rpc::Role::kOwner, .uid = 1000}, /*is_private=*/true);
  ASSERT_EQ(reply.stats(0).accounts_size(), 2);
  EXPECT_EQ(reply.stats(0).accounts(0).job(), "secret");
  EXPECT_EQ(reply.stats(0).accounts(1).uid(), 1001u);
  EXPECT_EQ(reply.stats(0).accounts(1).job(), "");
  EXPECT_EQ(reply.stats(0).accounts(1).claimed_size(), 0);
}

TEST_F(StatusListsTest, AmongManyTheNodesOfTeamsWithALongCallAreAsked) {
  RegisterAll();
  const TeamId team = FormTeamOf(3);
  EXPECT_EQ(Calls().collectives_size(), 0);
  EXPECT_EQ(asked_, 0u);
  schedule::DaemonStatus hanging;
  hanging.calls.push_back(LongCall(team, {Rank(0)}, {}));
  ReportAgain(1, hanging);
  answers_[1] = hanging;
  answers_[2].progress.push_back({team, Rank(1), CallSeq(8)});  // it has ended there
  answers_[3].progress.push_back({team, Rank(2), CallSeq(7)});
  const v1::ListCollectivesReply reply = Calls();
  EXPECT_EQ(asked_, 3u);
  ASSERT_EQ(reply.collectives_size(), 1);
  EXPECT_EQ(absl::StrJoin(reply.collectives(0).joined(), " "), "0");
  EXPECT_EQ(absl::StrJoin(reply.collectives(0).missing(), " "), "2");
}

TEST_F(StatusListsTest, CallsOfAnUnknownTeamAreAnError) {
  v1::ListCollectivesRequest request;
  request.set_team(4711);
  StatusLists lists(coordinator.get(), /*private_data=*/false);
  EXPECT_THAT(lists.CollectiveRows(request)([](const auto&) { ADD_FAILURE() << "the list has begun"; }),
              testing::FailsWith(absl::StatusCode::kNotFound, "team 4711"));
}

TEST_F(StatusListsTest, ALongCallOfATeamOfManyNodesIsMadeOfTheirReports) {
  RegisterAll();
  const TeamId team = FormTeamOf(kNodes);
  for (SessionId session = 1; session < kNodes; ++session) {
    schedule::DaemonStatus hanging;
    hanging.calls.push_back(LongCall(team, {Rank(static_cast<uint32_t>(session) - 1)}, {}));
    ReportAgain(session, hanging);
  }
  Advance(absl::Seconds(2));
  const v1::ListCollectivesReply reply = Calls();
  EXPECT_EQ(asked_, 0u);
  ASSERT_EQ(reply.collectives_size(), 1);
  EXPECT_EQ(reply.collectives(0).age_s(), 62);
  EXPECT_EQ(reply.collectives(0).joined_size(), static_cast<int>(kNodes) - 1);
  EXPECT_EQ(absl::StrJoin(reply.collectives(0).missing_nodes(), " "), Name(kNodes));
}

}  // namespace
}  // namespace copse::planner
