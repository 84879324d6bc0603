// SPDX-License-Identifier: Apache-2.0
//
// The outcomes of a daemon's registration.
#include <string>

#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;
using testing::Names;
using ::testing::Pair;

TEST_F(CoordinatorTest, RegistersANode) {
  EXPECT_TRUE(Register(1, "n1").accepted);
  const auto nodes = coordinator->view().Nodes();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].state, "ready");
  EXPECT_EQ(nodes[0].announcement->name, "n1");
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
  options.join_tokens = {"secret"};
  Restart();
  auto refused = Register(1, "n1");
  EXPECT_THAT(Brief(refused.why), Pair(Failure::kPermission, Names("node n1")));
  schedule::NodeAnnouncement node = Announce("n1", 1);
  node.join_token = "secret";
  EXPECT_FALSE(coordinator->Admits(9, node)) << "there is no such session";
  coordinator->OnConnected(9, "10.0.0.9:1");
  EXPECT_TRUE(coordinator->Admits(9, node));
  node.join_token = "Secret";
  EXPECT_FALSE(coordinator->Admits(9, node));
  EXPECT_THAT(RegisterAs(2, {node, {}}).why.text, Names("node n1"));
  node.join_token = "secret";
  node.formats.plan = 7;
  refused = RegisterAs(3, {node, {}});
  EXPECT_EQ(refused.why.failure, Failure::kVersion);
  EXPECT_THAT(refused.why.text, Names("node n1", "format 7", "side 1"));
  node.formats.plan = kPlanFormatVersion + 1;  // a difference of one is accepted
  EXPECT_TRUE(RegisterAs(4, {node, {}}).accepted);
  node.incarnation = Incarnation{2};
  refused = RegisterAs(5, {node, {}});
  EXPECT_EQ(refused.why.failure, Failure::kPermission);
  EXPECT_EQ(refused.why.node, "n1");
  EXPECT_EQ(sink.closed.count(4), 0u);
}

TEST_F(CoordinatorTest, TakesTwoTokensWhileTheyAreReplaced) {
  auto accepts = [&, session = SessionId{0}](const std::string& token) mutable {
    schedule::NodeAnnouncement node = Announce("n1", 1);
    node.join_token = token;
    return RegisterAs(++session, {node, {}}).accepted;
  };
  options.join_tokens = {"old"};
  Restart();
  EXPECT_TRUE(accepts("old"));
  EXPECT_FALSE(accepts("new"));
  options.join_tokens = {"new", "old"};
  coordinator->SetLive(options);
  EXPECT_TRUE(accepts("old"));
  EXPECT_TRUE(accepts("new"));
  options.join_tokens = {"new"};
  coordinator->SetLive(options);
  EXPECT_FALSE(accepts("old"));
  EXPECT_TRUE(accepts("new"));
}

TEST_F(CoordinatorTest, FirstMessageMustBeRegisterAndOnlyOnceAndSoon) {
  coordinator->OnConnected(1);
  Join(1, 0, 2, 1);
  EXPECT_THAT(sink.closed[1], Names("Register"));
  Register(2, "n2");
  coordinator->OnMessage(2, schedule::Register{Announce("n2", 1), {}});
  EXPECT_THAT(sink.closed[2], Names("Register"));
  coordinator->OnMessage(2, schedule::LeaveTeam{});  // ignored: the session is closed
  coordinator->OnConnected(3);
  EXPECT_LE(coordinator->NextDeadline(), clock.Now() + options.register_timeout);
  Advance(options.register_timeout);
  EXPECT_THAT(sink.closed[3], Names("10s"));
}

TEST_F(CoordinatorTest, NewerStreamOfSameDaemonReplacesOlder) {
  Register(1, "n1");
  EXPECT_TRUE(Register(2, "n1").accepted);
  EXPECT_TRUE(sink.closed.contains(1));
  coordinator->OnDisconnected(1);
  EXPECT_TRUE(coordinator->view().FindNode("n1")->connected);
}

}  // namespace
}  // namespace copse::coordinator
