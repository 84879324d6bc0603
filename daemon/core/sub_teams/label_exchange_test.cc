// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/label_exchange.h"

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

schedule::TeamNode Node(uint64_t incarnation) {
  schedule::TeamNode node;
  node.incarnation = Incarnation(incarnation);
  return node;
}

TEST(LabelExchangeTest, EachNeighborsFirstLabelCounts) {
  LabelExchange exchange;
  EXPECT_TRUE(exchange.is_complete());
  exchange.Expect(Node(7), NodeIndex(2));
  EXPECT_FALSE(exchange.is_complete());
  EXPECT_FALSE(exchange.Add(Incarnation(8), 40)) << "no neighbor";
  EXPECT_TRUE(exchange.Add(Incarnation(7), 41));
  EXPECT_FALSE(exchange.Add(Incarnation(7), 42));
  EXPECT_TRUE(exchange.is_complete());
  ASSERT_EQ(exchange.labels().size(), 1u);
  EXPECT_EQ(exchange.labels()[0].neighbor, NodeIndex(2));
  EXPECT_EQ(exchange.labels()[0].label, 41u);
}

TEST(LabelExchangeTest, NeighborsAreReleasedOnce) {
  LabelExchange exchange;
  exchange.Connect(Node(7));
  exchange.SetLabels({{NodeIndex(2), 41}});
  EXPECT_TRUE(exchange.is_complete());
  exchange.Expect(Node(8), NodeIndex(3));  // its connection is released, too, though its label has not come
  const std::vector<schedule::TeamNode> neighbors = exchange.TakeNeighbors();
  ASSERT_EQ(neighbors.size(), 2u);
  EXPECT_EQ(neighbors[0].incarnation, Incarnation(7));
  EXPECT_EQ(neighbors[1].incarnation, Incarnation(8));
  EXPECT_TRUE(exchange.TakeNeighbors().empty());
  EXPECT_EQ(exchange.labels().size(), 1u);
}

}  // namespace
}  // namespace copse::daemon
