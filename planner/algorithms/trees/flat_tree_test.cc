// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/flat_tree.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/tree_properties.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

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
  EXPECT_THAT(BuildFlatTree({}), FailsWith(kInvalid, "flat", "nodes=0", "least=1"));
  EXPECT_THAT(BuildFlatTree({0, 0}), FailsWith(kInvalid, "flat", "node=0", "nodes=2"));
  EXPECT_THAT(BuildFlatTree({0, 2}), FailsWith(kInvalid, "flat", "node=2", "nodes=2"));
  const NodeOrder many(schedule::kNodeCountMax + 1, 0);
  EXPECT_THAT(BuildFlatTree(many), FailsWith(kInvalid, "flat", "nodes=1048577", "limit=1048576"));
}

}  // namespace
}  // namespace copse::planner
