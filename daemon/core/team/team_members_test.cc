// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/team_members.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "daemon/core/team/team_edges.h"
#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

// Ranks 0 and 1 on node 0, which is this one, 2 on node 1, 3 and 4 on node 2.
schedule::TeamLayout Layout() {
  schedule::TeamLayout layout{.id = TeamId(7), .shape = {.node_count = 3}};
  for (const uint32_t node : {0, 0, 1, 2, 2}) layout.shape.node_of_rank.push_back(NodeIndex(node));
  for (uint32_t n = 0; n < 3; ++n) layout.nodes.push_back({"n" + std::to_string(n), Incarnation(100 + n), "fake"});
  return layout;
}

class TeamMembersTest : public ::testing::Test {
 protected:
  TeamMembers members_{IndexLayout(Layout()), NodeIndex(0)};
};

TEST_F(TeamMembersTest, AddressesOfNewNeighborsAreLearned) {
  schedule::TeamLayout layout = Layout();
  layout.nodes[1].worker_address = "";
  layout.nodes[2].worker_address = "new";
  // The layout is made alone, or with the earlier one.
  for (const SharedLayout& earlier : {SharedLayout(), members_.shared_layout()}) {
    TeamMembers members(members_.shared_layout(), NodeIndex(0));
    members.LearnAddresses(IndexLayout(layout, earlier));
    EXPECT_EQ(members.node(1).worker_address, "fake");
    EXPECT_EQ(members.node(2).worker_address, "new");
    EXPECT_EQ(&members.shape(), &members_.shape());
  }
}

TEST_F(TeamMembersTest, OnlyRanksHereHaveClients) {
  EXPECT_FALSE(members_.HasClients());
  members_.Join(Rank(1), 5);
  EXPECT_TRUE(members_.HasClients());
  EXPECT_EQ(members_.ClientOf(Rank(1)), ClientId(5));
  EXPECT_EQ(members_.ClientAt(1), ClientId(5));
  EXPECT_EQ(members_.ClientOf(Rank(0)), std::nullopt);
  EXPECT_EQ(members_.ClientOf(Rank(2)), std::nullopt);
  EXPECT_EQ(members_.ClientOf(Rank(5)), std::nullopt);
}

TEST_F(TeamMembersTest, NeighborsHearOfTheFirstOfAnEarlierAndOfTheLastRankThatLeaves) {
  members_.Join(Rank(0), 5);
  members_.Join(Rank(1), 6);
  EXPECT_EQ(members_.OwnDeparture(), nullptr);
  members_.RemoveClient(Rank(1));
  std::optional<LeftMessage> left = members_.Leave(Rank(1), CallSeq(4));
  ASSERT_TRUE(left);
  EXPECT_EQ(left->rank, Rank(1));
  EXPECT_EQ(left->calls, CallSeq(4));
  EXPECT_FALSE(left->all);
  EXPECT_FALSE(members_.HasLeft(0));
  EXPECT_FALSE(members_.Leave(Rank(1), CallSeq(4)));  // no news
  EXPECT_FALSE(members_.Leave(Rank(1), CallSeq(5)));
  left = members_.Leave(Rank(0), CallSeq(3));
  ASSERT_TRUE(left);
  EXPECT_EQ(left->rank, Rank(0));
  EXPECT_EQ(left->calls, CallSeq(3));
  members_.RemoveClient(Rank(0));
  left = members_.Leave(Rank(0), CallSeq(9));
  ASSERT_TRUE(left);
  EXPECT_EQ(left->calls, CallSeq(3));
  EXPECT_TRUE(left->all);
  EXPECT_TRUE(members_.HasLeft(0));
  EXPECT_EQ(members_.OwnDeparture()->calls, CallSeq(3));
}

TEST_F(TeamMembersTest, AnotherMemberIsAnotherNodeThatHasNotLeft) {
  EXPECT_EQ(members_.NodeOf(Incarnation(100)), NodeIndex(0));
  EXPECT_EQ(members_.OtherMember(Incarnation(100)), std::nullopt);
  EXPECT_EQ(members_.OtherMember(Incarnation(101)), NodeIndex(1));
  EXPECT_EQ(members_.NodeOf(Incarnation(99)), std::nullopt);
  members_.OnLeft(NodeIndex(1), {.team = TeamId(7), .rank = Rank(2), .all = false});
  EXPECT_EQ(members_.OtherMember(Incarnation(101)), NodeIndex(1));
  members_.OnLeft(NodeIndex(1), {.team = TeamId(7), .rank = Rank(2), .all = true});
  EXPECT_EQ(members_.OtherMember(Incarnation(101)), std::nullopt);
  EXPECT_EQ(members_.NodeOf(Incarnation(101)), NodeIndex(1));
}

class FakeLink : public PeerLink {
 public:
  void SendToPeer(Incarnation peer, const PeerMessage& message) override { sent.emplace_back(peer, message); }
  absl::Status AcquireNeighbor(const schedule::TeamNode& node) override {
    if (unreachable.contains(node.incarnation)) return absl::UnavailableError("no way");
    ++users[node.incarnation];
    return absl::OkStatus();
  }
  void ReleaseNeighbor(Incarnation peer) override {
    ASSERT_GT(users[peer], 0);
    --users[peer];
  }

  std::map<Incarnation, int> users;
  std::set<Incarnation> unreachable;
  std::vector<std::pair<Incarnation, PeerMessage>> sent;
};

class TeamEdgesTest : public TeamMembersTest {
 protected:
  FakeLink link_;
};

TEST_F(TeamEdgesTest, AConnectionIsHeldForEachEpochThatUsesIt) {
  {
    TeamEdges edges(&link_, &members_);
    edges.Acquire({1, 2});
    edges.Acquire({1});
    EXPECT_EQ(link_.users[Incarnation(101)], 2);
    EXPECT_EQ(link_.users[Incarnation(102)], 1);
    edges.Release({1, 2});
    EXPECT_TRUE(edges.Has(NodeIndex(1)));
    EXPECT_FALSE(edges.Has(NodeIndex(2)));
    EXPECT_EQ(edges.Neighbors(), std::vector<Incarnation>{Incarnation(101)});
    edges.Release({2});  // not in use
    EXPECT_EQ(link_.users[Incarnation(102)], 0);
    edges.Acquire({1});
    edges.Drop(NodeIndex(1));
    EXPECT_EQ(link_.users[Incarnation(101)], 0);
    edges.Release({1});
    edges.Acquire({2});
  }
  EXPECT_EQ(link_.users[Incarnation(102)], 0);  // with the team
}

TEST_F(TeamEdgesTest, NodesThatHaveLeftOrCannotBeReachedAreLeftOut) {
  link_.unreachable.insert(Incarnation(101));
  members_.OnLeft(NodeIndex(2), {.team = TeamId(7), .all = true});
  TeamEdges edges(&link_, &members_);
  edges.Acquire({1, 2});
  EXPECT_TRUE(edges.Neighbors().empty());
}

TEST_F(TeamEdgesTest, ANewNeighborHearsOnceWhichRanksHaveLeft) {
  TeamEdges edges(&link_, &members_);
  edges.Acquire({1});
  EXPECT_TRUE(link_.sent.empty());
  members_.Leave(Rank(0), CallSeq(2));
  edges.Acquire({1, 2});
  ASSERT_EQ(link_.sent.size(), 1u);
  EXPECT_EQ(link_.sent[0].first, Incarnation(102));
  EXPECT_EQ(std::get<LeftMessage>(link_.sent[0].second).calls, CallSeq(2));
}

TEST_F(TeamEdgesTest, MessagesGoToAllNeighborsButOne) {
  TeamEdges edges(&link_, &members_);
  edges.Acquire({1, 2});
  edges.SendToAll(BreakMessage{.team = TeamId(7), .why = {}}, Incarnation(101));
  ASSERT_EQ(link_.sent.size(), 1u);
  EXPECT_EQ(link_.sent[0].first, Incarnation(102));
  edges.SendToAll(BreakMessage{.team = TeamId(7), .why = {}});
  EXPECT_EQ(link_.sent.size(), 3u);
}

}  // namespace
}  // namespace copse::daemon
