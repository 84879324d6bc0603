// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/binomial_tree.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/tree_properties.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

TEST(BuildBinomialTreeTest, IsATreeForAllSizesAndRoots) {
  for (uint32_t n = 1; n <= 64; ++n) {
    for (const NodeOrder& order : OrdersOf(n)) {
      const auto tree = BuildBinomialTree(order);
      ASSERT_TRUE(tree.ok()) << tree.status();
      const bool is_power = (n & (n - 1)) == 0;  // else a subtree is cut at n
      ExpectTree(*tree, order, {.depth = CeilLog(2, n), .fanout = CeilLog(2, n), .largest_first = is_power});
    }
  }
}

TEST(BuildBinomialTreeTest, LargestDistanceFirst) {
  const auto tree = BuildBinomialTree({0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ((*tree)[0], (std::vector<uint32_t>{4, 2, 1}));
  EXPECT_EQ((*tree)[4], (std::vector<uint32_t>{0, 6, 5}));
  EXPECT_EQ((*tree)[6], (std::vector<uint32_t>{4, 7}));
  EXPECT_EQ((*tree)[7], (std::vector<uint32_t>{6}));
}

// The expected edges are the golden vector's of 5 nodes with root 2.
TEST(BuildBinomialTreeTest, ServesAsThePapersPeer) {
  NodeOrder order;
  for (uint32_t p = 0; p < 5; ++p) order.push_back((2 + p) % 5);
  const auto tree = BuildBinomialTree(order);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ((*tree)[2], (std::vector<uint32_t>{1, 4, 3}));  // BT: edges [2,1], [2,4], [2,3], [4,0]
  EXPECT_EQ((*tree)[4], (std::vector<uint32_t>{2, 0}));
}

TEST(BuildBinomialTreeTest, RefusesBadOrders) {
  EXPECT_THAT(BuildBinomialTree({}), FailsWith(absl::StatusCode::kInvalidArgument, "binomial", "nodes=0", "least=1"));
  EXPECT_THAT(BuildBinomialTree({1, 1}),
              FailsWith(absl::StatusCode::kInvalidArgument, "binomial", "node=1", "nodes=2"));
  const NodeOrder many(schedule::kNodeCountMax + 1, 0);
  EXPECT_THAT(BuildBinomialTree(many),
              FailsWith(absl::StatusCode::kInvalidArgument, "binomial", "nodes=1048577", "limit=1048576"));
}

}  // namespace
}  // namespace copse::planner
