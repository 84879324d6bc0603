// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/flat_tree.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/tree_properties.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using ::testing::HasSubstr;

TEST(BuildFlatTreeTest, IsATreeForAllSizesAndRoots) {
  for (uint32_t n = 1; n <= 64; ++n) {
    for (const NodeOrder& order : OrdersOf(n)) {
      const auto tree = BuildFlatTree(order);
      ASSERT_TRUE(tree.ok()) << tree.status();
      ExpectTree(*tree, order, {.depth = 1, .fanout = n - 1});
    }
  }
}

TEST(BuildFlatTreeTest, RootServesInOrder) {
  const auto tree = BuildFlatTree({2, 3, 0, 1});
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ((*tree)[2], (std::vector<uint32_t>{3, 0, 1}));
}

TEST(BuildFlatTreeTest, RefusesBadOrders) {
  EXPECT_THAT(BuildFlatTree({}).status().message(), HasSubstr("flat: no nodes"));
  EXPECT_THAT(BuildFlatTree({0, 0}).status().message(),
              HasSubstr("flat: not a permutation of the nodes (node=0, nodes=2)"));
  EXPECT_THAT(BuildFlatTree({0, 2}).status().message(), HasSubstr("not a permutation"));
  const NodeOrder many(schedule::kNodeCountMax + 1, 0);
  EXPECT_THAT(BuildFlatTree(many).status().message(), HasSubstr("flat: too many nodes (nodes=1048577, limit=1048576)"));
}

}  // namespace
}  // namespace copse::planner
