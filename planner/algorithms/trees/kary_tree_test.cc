// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/kary_tree.h"

#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/tree_properties.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Returns the depth of the complete k-ary tree with at least n nodes.
uint32_t CompleteDepth(uint64_t k, uint64_t n) {
  uint32_t depth = 0;
  for (uint64_t level = 1, nodes = 1; nodes < n; ++depth) {
    level *= k;
    nodes += level;
  }
  return depth;
}

TEST(BuildKaryTreeTest, IsATreeForAllSizesAndRoots) {
  for (const uint32_t k : {2u, 3u, 4u, 5u, 8u, 16u, 63u, 64u, 100u}) {
    for (uint32_t n = 1; n <= 64; ++n) {
      for (const NodeOrder& order : OrdersOf(n)) {
        const auto tree = BuildKaryTree(order, k);
        ASSERT_TRUE(tree.ok()) << tree.status();
        ExpectTree(*tree, order, {.depth = CompleteDepth(k, n), .fanout = k});
      }
    }
  }
}

TEST(BuildKaryTreeTest, CutsIntoEvenRanges) {
  NodeOrder order(16);
  std::iota(order.begin(), order.end(), 0);
  const auto tree = BuildKaryTree(order, 2);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ((*tree)[0], (std::vector<uint32_t>{1, 9}));     // 15 nodes: 8 and 7
  EXPECT_EQ((*tree)[1], (std::vector<uint32_t>{0, 2, 6}));  // 7 nodes: 4 and 3
  EXPECT_EQ((*tree)[9], (std::vector<uint32_t>{0, 10, 13}));
}

TEST(BuildKaryTreeTest, ReachesTheLargestTeams) {
  NodeOrder order(schedule::kNodeCountMax);
  std::iota(order.begin(), order.end(), 0);
  for (const uint32_t k : {2u, 1000u, schedule::kNodeCountMax}) {
    const auto tree = BuildKaryTree(order, k);
    ASSERT_TRUE(tree.ok()) << tree.status();
    EXPECT_EQ((*tree)[order.size() - 1].size(), 1u);
  }
}

TEST(BuildKaryTreeTest, RefusesBadInput) {
  EXPECT_THAT(BuildKaryTree({}, 4), FailsWith(kInvalid, "kary", "nodes=0", "least=1"));
  EXPECT_THAT(BuildKaryTree({2, 0}, 4), FailsWith(kInvalid, "kary", "node=2", "nodes=2"));
  EXPECT_THAT(BuildKaryTree({0}, 0), FailsWith(kInvalid, "kary", "k=0", "least=2"));
  EXPECT_THAT(BuildKaryTree({0}, 1), FailsWith(kInvalid, "kary", "k=1", "least=2"));
  EXPECT_THAT(BuildKaryTree({0}, schedule::kNodeCountMax + 1), FailsWith(kInvalid, "kary", "k=1048577", "least=2"));
  const NodeOrder many(schedule::kNodeCountMax + 1, 0);
  EXPECT_THAT(BuildKaryTree(many, 2), FailsWith(kInvalid, "kary", "nodes=1048577", "limit=1048576"));
}

}  // namespace
}  // namespace copse::planner
