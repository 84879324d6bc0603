// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/chain_tree.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/tree_properties.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using ::testing::HasSubstr;

TEST(BuildChainTreeTest, IsATreeForAllSizesAndRoots) {
  for (uint32_t n = 1; n <= 64; ++n) {
    for (const NodeOrder& order : OrdersOf(n)) {
      const auto tree = BuildChainTree(order);
      ASSERT_TRUE(tree.ok()) << tree.status();
      ExpectTree(*tree, order, {.depth = n - 1, .fanout = 1});
    }
  }
}

TEST(BuildChainTreeTest, FollowsTheOrder) {
  const auto tree = BuildChainTree({2, 3, 0, 1});
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ((*tree)[3], (std::vector<uint32_t>{2, 0}));
  EXPECT_EQ((*tree)[1], (std::vector<uint32_t>{0}));
}

TEST(BuildChainTreeTest, RefusesBadOrders) {
  EXPECT_THAT(BuildChainTree({}).status().message(), HasSubstr("chain: no nodes"));
  EXPECT_THAT(BuildChainTree({0, 2}).status().message(), HasSubstr("chain: not a permutation"));
}

}  // namespace
}  // namespace copse::planner
