// SPDX-License-Identifier: Apache-2.0

#include "daemon/rpc/planner_stream.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/core/testing/test_plan.h"
#include "daemon/loop/poller.h"
#include "daemon/rpc/testing/echo_planner.h"
#include "schedule/plan.h"

namespace copse::daemon {
namespace {

class PlannerStreamTest : public testing::Test, public PlannerEvents {
 protected:
  void SetUp() override { ASSERT_TRUE(poller_->Watch(mailbox_->event_fd(), EPOLLIN | EPOLLET, nullptr).ok()); }
  void Connect(const std::vector<int>& ports) {
    std::vector<std::string> addresses;
    for (const int port : ports) addresses.push_back(absl::StrCat("127.0.0.1:", port));
    auto stream =
        PlannerStream::Create(&clock_, mailbox_.get(), &worker_, this,
                              {.addresses = addresses, .pause = pause_, .warn_every = warn_every_}, Incarnation(5));
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
  }
  bool TurnUntil(const std::function<bool()>& done) {
    const absl::Time until = clock_.Now() + absl::Seconds(20);
    while (!done()) {
      if (clock_.Now() > until) return false;
      stream_->Tick(clock_.Now());
      if (!mailbox_->Drain()) poller_->Wait(absl::Milliseconds(1));
    }
    return true;
  }

  void OnPlannerUp() override {
    ++ups_;
    schedule::Register message;
    message.node.name = "n1";
    message.node.incarnation = Incarnation(5);
    message.teams = teams_;
    stream_->Send(message);
  }
  void OnPlannerDown() override { ++downs_; }
  void OnPlannerMessage(const schedule::ToDaemon& message) override { messages_.push_back(message); }
  void OnPrepare(const CheckedPrepare& prepare) override { prepares_.push_back(prepare); }

  MonotonicClock clock_;
  std::unique_ptr<Poller> poller_ = *Poller::Create();
  std::unique_ptr<Mailbox> mailbox_ = *Mailbox::Create();
  Worker worker_;
  absl::Duration warn_every_ = absl::Hours(1);
  ReconnectPauseOptions pause_ = {absl::Milliseconds(1), absl::Milliseconds(20)};
  int ups_ = 0, downs_ = 0;
  std::vector<schedule::RunningTeam> teams_;  // to be registered with
  std::vector<schedule::ToDaemon> messages_;
  std::vector<CheckedPrepare> prepares_;
  std::unique_ptr<PlannerStream> stream_;
};

TEST_F(PlannerStreamTest, CarriesMessagesInOrderBothWays) {
  EchoPlanner planner;
  ASSERT_TRUE(planner.Start(0));
  Connect({planner.port()});
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  for (uint64_t i = 1; i <= 100; ++i) stream_->Send(schedule::EpochQuery{.team = TeamId(i), .epoch = EpochId(1)});
  ASSERT_TRUE(TurnUntil([&] { return messages_.size() == 101; }));
  EXPECT_TRUE(std::get<schedule::Registered>(messages_[0]).accepted);
  for (uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(std::get<schedule::EndTeam>(messages_[i]).team, TeamId(i));
  EXPECT_TRUE(TurnUntil([&] { return stream_->Flushed(); }));
  EXPECT_EQ(ups_, 1);
  EXPECT_EQ(stream_->trouble(), "");
  stream_.reset();  // while the stream is open
}

TEST_F(PlannerStreamTest, RegistersTeamsByTheirContents) {
  EchoPlanner planner;
  ASSERT_TRUE(planner.Start(0));
  schedule::TeamLayout layout{.id = TeamId(1), .shape = {.node_of_rank = {NodeIndex(0)}, .node_count = 1}};
  layout.nodes = {{"n1", Incarnation(5), "address"}};
  for (const uint64_t id : {1, 2}) {
    layout.id = TeamId(id);
    layout.nodes[0].incarnation = Incarnation(id);
    teams_.push_back({.layout = layout, .epoch = EpochId(1), .plans = {}, .why = {}});
  }
  Connect({planner.port()});
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  EXPECT_EQ(planner.contents(), "content content ");
  EXPECT_EQ(ups_, 1);
}

// Later messages may name it, so a new stream is needed, where both sides know of none.
TEST_F(PlannerStreamTest, ADamagedContentEndsTheStream) {
  EchoPlanner planner;
  ASSERT_TRUE(planner.Start(0));
  Connect({planner.port()});
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  stream_->Send(schedule::EpochQuery{.team = TeamId(kDamagedContentTeam), .epoch = EpochId(1)});
  ASSERT_TRUE(TurnUntil([&] { return downs_ == 1; }));
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  EXPECT_EQ(ups_, 2);
}

// --- Messages that the worker decodes ---

class PlannerStreamWorkTest : public PlannerStreamTest {
 protected:
  void SetUp() override {
    PlannerStreamTest::SetUp();
    ASSERT_TRUE(planner_.Start(0));
  }
  void TearDown() override {
    if (!released_.try_wait()) released_.count_down();
  }
  // Keeps the worker busy until Release.
  void Hold() {
    worker_.Post([this] { released_.wait(); });
  }
  void Release() { released_.count_down(); }
  void Ask() { stream_->Send(schedule::EpochQuery{.team = TeamId(kScriptTeam), .epoch = EpochId(1)}); }
  // Returns a team of this node, and of `nodes` in all.
  static schedule::Prepare TeamOf(uint64_t team, uint32_t nodes) {
    schedule::Prepare prepare{.layout = {.id = TeamId(team), .shape = {.node_count = nodes}}, .epoch = EpochId(1)};
    std::vector<std::vector<uint32_t>> star(nodes);
    for (uint32_t n = 0; n < nodes; ++n) {
      prepare.layout.shape.node_of_rank.push_back(NodeIndex(n));
      prepare.layout.nodes.push_back({absl::StrCat("n", n), Incarnation(5 + n), "address"});
      if (n > 0) star[0].push_back(n);
      if (n > 0) star[n].push_back(0);
    }
    for (const Collective c : CollectivesOf(Family::kCommon)) {
      prepare.plans.push_back(schedule::EncodePlan(TestPlan(c, star)));
    }
    return prepare;
  }

  EchoPlanner planner_;
  std::latch released_{1};
};

TEST_F(PlannerStreamWorkTest, QueriesDoNotWaitForIt) {
  Connect({planner_.port()});
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  planner_.AnswerWith({schedule::EndTeam{TeamId(1)}, schedule::StatusQuery{.query = 2}});
  Hold();
  Ask();
  ASSERT_TRUE(TurnUntil([&] { return messages_.size() == 2; }));
  EXPECT_EQ(std::get<schedule::StatusQuery>(messages_[1]).query, 2u);
  Release();
  ASSERT_TRUE(TurnUntil([&] { return messages_.size() == 3; }));
  EXPECT_EQ(std::get<schedule::EndTeam>(messages_[2]).team, TeamId(1));
}

TEST_F(PlannerStreamWorkTest, TeamsAreCheckedAndOtherMessagesFollowThem) {
  Connect({planner_.port()});
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  schedule::Prepare bad = TeamOf(8, 2);
  bad.plans.pop_back();
  planner_.AnswerWith({TeamOf(7, VerifiedPlans::kSmallMax + 1), bad, schedule::Commit{.team = TeamId(7)}});
  Ask();
  ASSERT_TRUE(TurnUntil([&] { return messages_.size() == 2; }));
  EXPECT_EQ(std::get<schedule::Commit>(messages_[1]).team, TeamId(7));
  ASSERT_EQ(prepares_.size(), 2u);
  EXPECT_EQ(prepares_[0].head.id, TeamId(7));
  EXPECT_TRUE(prepares_[0].plans.ok()) << prepares_[0].plans.status();
  EXPECT_EQ(prepares_[1].head.id, TeamId(8));
  EXPECT_TRUE(prepares_[1].layout.ok()) << prepares_[1].layout.status();
  EXPECT_FALSE(prepares_[1].plans.ok());
  EXPECT_GT(stream_->prepare_max(), absl::ZeroDuration());
}

TEST_F(PlannerStreamWorkTest, WhatItHasOfALostStreamIsDropped) {
  Connect({planner_.port()});
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  planner_.AnswerWith({schedule::EndTeam{TeamId(1)}, TeamOf(7, 2), schedule::StatusQuery{.query = 2}});
  Hold();
  Ask();
  ASSERT_TRUE(TurnUntil([&] { return messages_.size() == 2; }));  // the others have arrived, too
  stream_.reset();
  Release();
  std::latch done{1};
  worker_.Post([&] { done.count_down(); });
  done.wait();
  mailbox_->Drain();
  EXPECT_EQ(messages_.size(), 2u);
  EXPECT_EQ(prepares_.size(), 0u);
}

TEST_F(PlannerStreamWorkTest, MessagesFollowTheTeamsThatItEncodes) {
  schedule::TeamLayout layout{.id = TeamId(1), .shape = {.node_of_rank = {NodeIndex(0)}, .node_count = 1}};
  layout.nodes = {{"n1", Incarnation(5), "address"}};
  teams_.push_back({.layout = layout, .epoch = EpochId(1), .plans = {}, .why = {}});
  Connect({planner_.port()});
  Hold();
  ASSERT_TRUE(TurnUntil([&] { return ups_ == 1; }));
  stream_->Send(schedule::EpochQuery{.team = TeamId(9), .epoch = EpochId(1)});
  EXPECT_FALSE(stream_->Flushed());
  Release();
  ASSERT_TRUE(TurnUntil([&] { return messages_.size() == 2; }));
  EXPECT_TRUE(std::get<schedule::Registered>(messages_[0]).accepted);
  EXPECT_EQ(std::get<schedule::EndTeam>(messages_[1]).team, TeamId(9));
  EXPECT_TRUE(TurnUntil([&] { return stream_->Flushed(); }));
}

// --- Several planners ---

class PlannersTest : public PlannerStreamTest {
 protected:
  void SetUp() override {
    PlannerStreamTest::SetUp();
    for (EchoPlanner* planner : {&a_, &b_}) ASSERT_TRUE(planner->Start(0));
  }
  static std::string AddressOf(const EchoPlanner& planner) { return absl::StrCat("127.0.0.1:", planner.port()); }
  bool Uses(const EchoPlanner& planner) {
    return TurnUntil([&] { return stream_->connected() && stream_->planner() == AddressOf(planner); });
  }

  EchoPlanner a_, b_;
};

TEST_F(PlannersTest, AStandbyNamesTheLeader) {
  a_.StandBy(AddressOf(b_), 1);
  Connect({a_.port()});
  EXPECT_TRUE(Uses(b_));
  EXPECT_EQ(downs_, 1);
}

TEST_F(PlannersTest, TheNextOneIsTriedWhenOneEnds) {
  auto first = std::make_unique<EchoPlanner>();
  ASSERT_TRUE(first->Start(0));
  Connect({first->port(), b_.port()});
  EXPECT_TRUE(Uses(*first));
  first.reset();
  EXPECT_TRUE(Uses(b_));
}

TEST_F(PlannersTest, AStandbysWordMovesTheDaemonFromALeaderThatIsSilent) {
  b_.StandBy(AddressOf(a_), 7);
  Connect({a_.port(), b_.port()});
  EXPECT_TRUE(Uses(a_));
  EchoPlanner c;
  ASSERT_TRUE(c.Start(0));
  c.Lead(2);
  b_.StandBy(AddressOf(c), 8);
  EXPECT_TRUE(Uses(c));
}

TEST_F(PlannersTest, PlannersThatAreAllAwayAreLeftInPeace) {
  pause_ = {absl::Hours(1), absl::Hours(1)};
  Connect({1, 2});
  ASSERT_TRUE(TurnUntil([&] { return downs_ == 2; }));
  const absl::Time end = clock_.Now() + absl::Milliseconds(400);
  ASSERT_TRUE(TurnUntil([&] { return clock_.Now() > end; }));
  EXPECT_EQ(downs_, 2);
}

TEST_F(PlannersTest, APlannerOfALowerTermIsLeft) {
  a_.Lead(5);
  b_.Lead(4);
  Connect({a_.port(), b_.port()});
  EXPECT_TRUE(Uses(a_));
  a_.StandBy(AddressOf(b_), 1);
  stream_->Send(schedule::EpochQuery{.team = TeamId(kDamagedContentTeam), .epoch = EpochId(1)});  // ends this stream
  ASSERT_TRUE(TurnUntil([&] { return absl::StrContains(stream_->trouble(), "term=4"); }));
  EXPECT_TRUE(absl::StrContains(stream_->trouble(), "heard=5")) << stream_->trouble();
  b_.Lead(6);
  EXPECT_TRUE(Uses(b_));
}

TEST_F(PlannerStreamTest, UnderstandsAnEarlierPlanner) {
  EchoPlanner planner;
  planner.BeEarlier();
  ASSERT_TRUE(planner.Start(0));
  Connect({planner.port()});
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  EXPECT_EQ(ups_, 2);
  EXPECT_EQ(downs_, 1);
  stream_->Send(schedule::EpochQuery{.team = TeamId(7), .epoch = EpochId(1)});
  ASSERT_TRUE(TurnUntil([&] { return messages_.size() == 2; }));
  EXPECT_EQ(std::get<schedule::EndTeam>(messages_[1]).team, TeamId(7));
}

TEST_F(PlannerStreamTest, ConnectsAgainWhenThePlannerComesBack) {
  auto planner = std::make_unique<EchoPlanner>();
  ASSERT_TRUE(planner->Start(0));
  const int port = planner->port();
  Connect({port});
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  planner.reset();
  ASSERT_TRUE(TurnUntil([&] { return downs_ >= 3; }));
  EXPECT_FALSE(stream_->connected());
  EXPECT_NE(stream_->trouble(), "");
  stream_->Send(schedule::EpochQuery{});  // only lost
  planner = std::make_unique<EchoPlanner>();
  ASSERT_TRUE(planner->Start(port));
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
  EXPECT_EQ(ups_, downs_ + 1);
}

TEST_F(PlannerStreamTest, SaysNowAndThenThatThePlannerIsStillAway) {
  const auto warnings = [&](int tries) {
    testing::internal::CaptureStderr();
    Connect({1});  // no server listens
    EXPECT_TRUE(TurnUntil([&] { return downs_ >= tries; }));
    stream_.reset();
    mailbox_->Drain();
    downs_ = 0;
    const std::string text = testing::internal::GetCapturedStderr();
    return std::vector<std::string>(absl::StrSplit(text, "next_ms=")).size() - 1;
  };
  EXPECT_EQ(warnings(10), 1u) << "not for each try";
  warn_every_ = absl::ZeroDuration();
  EXPECT_GE(warnings(10), 10u);
}

TEST_F(PlannerStreamTest, AsksARefusingPlannerAgainAndSaysWhy) {
  EchoPlanner planner;
  ASSERT_TRUE(planner.Start(0));
  planner.Refuse("proto 9 (this side 1)");
  Connect({planner.port()});
  ASSERT_TRUE(TurnUntil([&] { return downs_ >= 2; }));
  EXPECT_TRUE(absl::StrContains(stream_->trouble(), "proto 9 (this side 1)")) << stream_->trouble();
  EXPECT_GE(stream_->NextDeadline(), clock_.Now());
  planner.Refuse("");
  ASSERT_TRUE(TurnUntil([&] { return stream_->connected(); }));
}

TEST_F(PlannerStreamTest, EndsWhileConnecting) {
  Connect({1});  // no server listens
  ASSERT_TRUE(TurnUntil([&] { return ups_ == 1; }));
  const int downs = downs_;
  stream_.reset();
  mailbox_->Drain();  // remaining posts of gRPC's threads
  EXPECT_EQ(downs_, downs);
}

TEST_F(PlannerStreamTest, RefusesImpossibleAddresses) {
  for (const char* address : {"", "nohost", "host:99999"}) {
    EXPECT_FALSE(
        PlannerStream::Create(&clock_, mailbox_.get(), &worker_, this, {.addresses = {address}}, Incarnation(5)).ok())
        << address;
  }
}

}  // namespace
}  // namespace copse::daemon
