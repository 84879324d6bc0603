// SPDX-License-Identifier: Apache-2.0
#include "planner/sessions/brief_registrations.h"

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rpc/control_conversion.h"
#include "rpc/team_content.h"

namespace copse::planner {
namespace {

using coordinator::SessionId;
using testing::FailsWith;

class BriefRegistrationsTest : public ::testing::Test, public BriefSink {
 protected:
  bool Admits(SessionId, const schedule::NodeAnnouncement& node) override { return node.join_token != "wrong"; }
  void AskForContent(SessionId session, const std::string& sha256) override { asked_.emplace_back(session, sha256); }
  void OnWhole(SessionId session, absl::StatusOr<schedule::FromDaemon> registration,
               std::vector<schedule::FromDaemon> later) override {
    later_[session] = std::move(later);
    if (registration.ok()) {
      whole_[session] = std::get<schedule::Register>(*registration);
      for (schedule::RunningTeam& team : whole_[session].teams) {
        EXPECT_TRUE(contents_.contains(team.content));
        team.content.clear();
      }
    } else {
      failed_[session] = registration.status();
    }
  }

  // Returns a registration of node n`node` with team `id` of two nodes, whole.
  static schedule::Register Registration(uint32_t node, uint64_t id) {
    schedule::Register message;
    message.node.name = absl::StrCat("n", node);
    message.node.incarnation = Incarnation(node + 1);
    schedule::TeamLayout layout{.id = TeamId(id),
                                .shape = {.node_of_rank = {NodeIndex(0), NodeIndex(1)}, .node_count = 2}};
    layout.nodes = {{"n0", Incarnation(1), ""}, {"n1", Incarnation(2), ""}};
    message.teams = {{.layout = layout, .epoch = EpochId(3 + node), .plans = {}, .why = {}}};
    message.term = 7;
    return message;
  }
  // Returns it in brief, and adds its contents to contents_.
  v1::Register Brief(const schedule::Register& message) {
    v1::FromDaemon proto;
    rpc::ToProto(message, &proto);
    for (v1::RunningTeam& team : *proto.mutable_register_()->mutable_teams()) {
      const v1::TeamContent content = rpc::TakeContent(&team);
      contents_[content.sha256()] = content;
    }
    return proto.register_();
  }

  std::map<std::string, v1::TeamContent> contents_;
  std::vector<std::pair<SessionId, std::string>> asked_;
  std::map<SessionId, schedule::Register> whole_;
  std::map<SessionId, absl::Status> failed_;
  std::map<SessionId, std::vector<schedule::FromDaemon>> later_;
  BriefRegistrations brief_{this};
};

TEST_F(BriefRegistrationsTest, ARegistrationWithoutTeamsIsWhole) {
  schedule::Register message = Registration(0, 9);
  message.teams.clear();
  brief_.Take(1, Brief(message));
  EXPECT_EQ(whole_.at(1), message);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(BriefRegistrationsTest, OneDaemonIsAskedForAllThatNameTheContent) {
  brief_.Take(1, Brief(Registration(0, 9)));
  brief_.Take(2, Brief(Registration(1, 9)));
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].first, 1u);
  EXPECT_TRUE(whole_.empty());
  brief_.OnContent(2, contents_.at(asked_[0].second));
  EXPECT_TRUE(whole_.empty()) << "it was not asked";
  brief_.Keep(2, schedule::LeaveTeam{TeamId(9)});
  brief_.OnContent(1, contents_.at(asked_[0].second));
  EXPECT_EQ(whole_.at(1), Registration(0, 9));
  EXPECT_EQ(whole_.at(2), Registration(1, 9));
  EXPECT_TRUE(later_.at(1).empty());
  EXPECT_EQ(later_.at(2).size(), 1u);
  EXPECT_TRUE(whole_.at(1).teams[0].layout.IsCopyOf(whole_.at(2).teams[0].layout));
  EXPECT_FALSE(brief_.IsWaiting(1));
  // It is kept for those that come later, and for other teams of the same nodes.
  brief_.Take(3, Brief(Registration(0, 9)));
  brief_.Take(4, Brief(Registration(0, 10)));
  EXPECT_EQ(asked_.size(), 1u);
  EXPECT_EQ(whole_.at(4), Registration(0, 10));
}

TEST_F(BriefRegistrationsTest, AnotherIsAskedIfOneGoesAway) {
  for (const SessionId session : {1, 2, 3}) brief_.Take(session, Brief(Registration(0, 9)));
  brief_.OnClosed(2);
  brief_.OnClosed(1);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].first, 3u);
  brief_.OnContent(3, contents_.at(asked_[1].second));
  EXPECT_TRUE(whole_.contains(3));
  EXPECT_FALSE(whole_.contains(1));
  brief_.Take(4, Brief(Registration(0, 11)));
  EXPECT_TRUE(whole_.contains(4));
}

TEST_F(BriefRegistrationsTest, WhoSendsSomethingElseFailsAlone) {
  for (const SessionId session : {1, 2}) brief_.Take(session, Brief(Registration(0, 9)));
  v1::TeamContent damaged = contents_.at(asked_[0].second);
  damaged.mutable_zstd()->back() ^= 1;
  brief_.OnContent(1, damaged);
  EXPECT_THAT(failed_.at(1), FailsWith(absl::StatusCode::kInvalidArgument, "content"));
  ASSERT_EQ(asked_.size(), 2u);
  brief_.OnContent(2, contents_.at(asked_[1].second));
  EXPECT_TRUE(whole_.contains(2));
}

TEST_F(BriefRegistrationsTest, ADaemonThatWithholdsItsContentKeepsFewMessagesWaiting) {
  brief_.Take(1, Brief(Registration(0, 9)));
  brief_.Keep(1, schedule::LeaveTeam{TeamId(9)}, 4 << 20);
  EXPECT_TRUE(brief_.IsWaiting(1));
  brief_.Keep(1, schedule::LeaveTeam{TeamId(9)}, 1);
  EXPECT_THAT(failed_.at(1), FailsWith(absl::StatusCode::kResourceExhausted, "4194305", "limit"));
  EXPECT_FALSE(brief_.IsWaiting(1));
}

TEST_F(BriefRegistrationsTest, ADaemonThatIsNotAdmittedIsAskedForNothingAndHasNoTeams) {
  schedule::Register message = Registration(0, 9);
  message.node.join_token = "wrong";
  brief_.Take(1, Brief(message));
  EXPECT_TRUE(asked_.empty());
  message.teams.clear();
  EXPECT_EQ(whole_.at(1), message);
  EXPECT_FALSE(brief_.IsWaiting(1));
}

TEST_F(BriefRegistrationsTest, ADaemonThatDoesNotAnswerHoldsUpNobodyElse) {
  const absl::Time now = absl::UnixEpoch();
  brief_.Take(1, Brief(Registration(0, 9)));
  brief_.Tick(now);
  EXPECT_EQ(brief_.NextDeadline(), now + ContentQuestions::kPatience);
  brief_.Take(2, Brief(Registration(1, 9)));
  brief_.Tick(now + ContentQuestions::kPatience - absl::Nanoseconds(1));
  ASSERT_EQ(asked_.size(), 1u);
  const absl::Time again = now + ContentQuestions::kPatience;
  brief_.Tick(again);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1], std::pair(SessionId{2}, asked_[0].second));
  brief_.OnContent(2, contents_.at(asked_[0].second));
  EXPECT_TRUE(whole_.contains(1));
  EXPECT_TRUE(whole_.contains(2));
  brief_.Tick(again + ContentQuestions::kPatience);
  EXPECT_EQ(asked_.size(), 2u);
  EXPECT_EQ(brief_.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(BriefRegistrationsTest, WhoeverNamesTheContentNextIsAskedAtOnceIfNobodyAnswers) {
  absl::Time now = absl::UnixEpoch();
  brief_.Take(1, Brief(Registration(0, 9)));
  brief_.Tick(now);
  brief_.Tick(now += ContentQuestions::kPatience);
  EXPECT_EQ(asked_.size(), 1u) << "there is no other";
  EXPECT_EQ(brief_.NextDeadline(), absl::InfiniteFuture());
  brief_.Take(2, Brief(Registration(1, 9)));
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].first, 2u);
  brief_.OnContent(1, contents_.at(asked_[0].second));
  EXPECT_TRUE(whole_.contains(2)) << "the first one may answer late";
}

TEST_F(BriefRegistrationsTest, ASecondRegistrationWhileTheFirstOneWaitsFails) {
  for (const uint64_t team : {9, 10}) brief_.Take(1, Brief(Registration(0, team)));
  EXPECT_EQ(failed_.at(1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(brief_.IsWaiting(1));
}

TEST_F(BriefRegistrationsTest, ARegistrationsTeamsHaveALimitOnceTheyAreExpanded) {
  BriefRegistrations brief(this, {.expanded = 1000});
  schedule::Register few = Registration(0, 9), many = few;
  for (uint64_t team = 10; team < 100; ++team) many.teams.push_back(Registration(0, team).teams[0]);
  brief.Take(1, Brief(few));
  brief.OnContent(1, contents_.at(asked_[0].second));
  EXPECT_EQ(whole_.at(1), few);
  brief.Take(2, Brief(many));
  EXPECT_THAT(failed_.at(2), FailsWith(absl::StatusCode::kResourceExhausted, "(limit 1000)"));
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(BriefRegistrationsTest, ContentsHaveALimitAlsoWhileADaemonWaits) {
  const auto named = [&](uint32_t node, uint64_t id) {
    schedule::Register message = Registration(node, id);
    message.teams[0].plans = std::vector<std::string>();
    message.teams[0].layout = [&] {
      schedule::TeamLayout layout = *message.teams[0].layout;
      layout.nodes[1].name = absl::StrCat("other", id);
      return layout;
    }();
    return message;
  };
  const auto answer = [&](BriefRegistrations* brief, SessionId session) {
    brief->OnContent(session, contents_.at(asked_.back().second));
  };
  BriefRegistrations roomy(this), narrow(this, {.kept = 0, .kept_while_waiting = 0});
  roomy.Take(1, Brief(named(0, 9)));
  answer(&roomy, 1);
  EXPECT_TRUE(whole_.contains(1));
  narrow.Take(2, Brief(named(0, 9)));
  answer(&narrow, 2);
  EXPECT_THAT(failed_.at(2), FailsWith(absl::StatusCode::kResourceExhausted, "(limit 0)"));

  // What nobody waits for any more makes room, though somebody waits for something else.
  const uint64_t one = contents_.begin()->second.zstd().size();
  BriefRegistrations tight(this, {.kept_while_waiting = 3 * one});
  tight.Take(10, Brief(named(0, 1000)));
  const std::string awaited = asked_.back().second;
  for (uint64_t team = 1001; team < 1020; ++team) {
    tight.Take(team, Brief(named(0, team)));
    answer(&tight, team);
    EXPECT_TRUE(whole_.contains(team)) << failed_[team];
  }
  tight.OnContent(10, contents_.at(awaited));
  EXPECT_TRUE(whole_.contains(10));
}

TEST_F(BriefRegistrationsTest, WhatDoesNotFitIsRefused) {
  v1::Register message = Brief(Registration(0, 9));
  message.mutable_teams(0)->add_plan_ids(5);
  brief_.Take(1, message);
  brief_.OnContent(1, contents_.at(asked_[0].second));
  EXPECT_THAT(failed_.at(1), FailsWith(absl::StatusCode::kInvalidArgument, "ids=1, plans=0"));
}

}  // namespace
}  // namespace copse::planner
