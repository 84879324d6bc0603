// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/chain_tree.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/tree_properties.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

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
  EXPECT_THAT(BuildChainTree({}), FailsWith(absl::StatusCode::kInvalidArgument, "chain", "nodes=0", "least=1"));
  EXPECT_THAT(BuildChainTree({0, 2}), FailsWith(absl::StatusCode::kInvalidArgument, "chain", "node=2", "nodes=2"));
}

}  // namespace
}  // namespace copse::planner
