// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/kary_tree.h"

#include <numeric>

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
    ExpectTrees([k](const NodeOrder& order) { return BuildKaryTree(order, k); },
                [k](uint32_t n) { return TreeBounds{.depth = CompleteDepth(k, n), .fanout = k}; });
  }
  ExpectTrees(BuildChainTree, [](uint32_t n) { return TreeBounds{.depth = n - 1, .fanout = 1}; });
  ExpectTrees(BuildFlatTree, [](uint32_t n) { return TreeBounds{.depth = 1, .fanout = n - 1}; });
}

TEST(BuildKaryTreeTest, CutsIntoEvenRanges) {
  NodeOrder order(16);
  std::iota(order.begin(), order.end(), 0);
  const auto tree = BuildKaryTree(order, 2).value();
  EXPECT_EQ(tree[0], (std::vector<uint32_t>{1, 9}));     // 15 nodes: 8 and 7
  EXPECT_EQ(tree[1], (std::vector<uint32_t>{0, 2, 6}));  // 7 nodes: 4 and 3
  EXPECT_EQ(tree[9], (std::vector<uint32_t>{0, 10, 13}));
}

TEST(BuildKaryTreeTest, ChainAndFlatTreeFollowTheOrder) {
  EXPECT_EQ(*BuildChainTree({2, 3, 0, 1}), (Neighbors{{3, 1}, {0}, {3}, {2, 0}}));
  EXPECT_EQ(*BuildFlatTree({2, 3, 0, 1}), (Neighbors{{2}, {2}, {3, 0, 1}, {2}}));
}

TEST(BuildKaryTreeTest, ReachesTheLargestTeams) {
  NodeOrder order(schedule::kNodeCountMax);
  std::iota(order.begin(), order.end(), 0);
  for (const uint32_t k : {2u, 1000u, schedule::kNodeCountMax}) {
    const auto tree = BuildKaryTree(order, k).value();
    EXPECT_EQ(tree[order.size() - 1].size(), 1u);
  }
}

TEST(BuildKaryTreeTest, RefusesBadInput) {
  ExpectRefusesBadOrders("kary", [](const NodeOrder& order) { return BuildKaryTree(order, 2); });
  ExpectRefusesBadOrders("chain", BuildChainTree);
  ExpectRefusesBadOrders("flat", BuildFlatTree);
  EXPECT_THAT(BuildKaryTree({0}, 0), FailsWith(kInvalid, "kary", "k=0", "least=2"));
  EXPECT_THAT(BuildKaryTree({0}, 1), FailsWith(kInvalid, "kary", "k=1", "least=2"));
  EXPECT_THAT(BuildKaryTree({0}, schedule::kNodeCountMax + 1), FailsWith(kInvalid, "kary", "k=1048577", "least=2"));
}

}  // namespace
}  // namespace copse::planner
