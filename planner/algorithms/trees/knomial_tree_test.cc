// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/knomial_tree.h"

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

TEST(BuildKnomialTreeTest, IsATreeForAllSizesAndRoots) {
  const auto bounds = [](uint64_t k, uint32_t n) {
    uint64_t power = 1;  // unless n is a power, a subtree is cut at n
    while (power < n) power *= k;
    return TreeBounds{
        .depth = CeilLog(k, n), .fanout = static_cast<uint32_t>(k - 1) * CeilLog(k, n), .largest_first = power == n};
  };
  for (const uint32_t k : {2u, 3u, 4u, 5u, 8u, 16u, 63u, 64u, 100u}) {
    ExpectTrees([k](const NodeOrder& order) { return BuildKnomialTree(order, k); },
                [&](uint32_t n) { return bounds(k, n); });
  }
  ExpectTrees(BuildBinomialTree, [&](uint32_t n) { return bounds(2, n); });
}

// This is the barrier model's example: 16 nodes, k = 4: 0 is the root, 4, 8, 12 are inner, the others are leaves.
TEST(BuildKnomialTreeTest, FourNomialOfSixteenIsThePapers) {
  NodeOrder order(16);
  std::iota(order.begin(), order.end(), 0);
  const auto tree = BuildKnomialTree(order, 4).value();
  EXPECT_EQ(tree[0], (std::vector<uint32_t>{4, 8, 12, 1, 2, 3}));
  EXPECT_EQ(tree[4], (std::vector<uint32_t>{0, 5, 6, 7}));
  EXPECT_EQ(tree[8], (std::vector<uint32_t>{0, 9, 10, 11}));
  EXPECT_EQ(tree[12], (std::vector<uint32_t>{0, 13, 14, 15}));
  for (const uint32_t leaf : {1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15}) EXPECT_EQ(tree[leaf].size(), 1u);
}

// The expected edges are the golden vector's of 5 nodes with root 2: BT: [2,1], [2,4], [2,3], [4,0].
TEST(BuildKnomialTreeTest, BinomialServesAsThePapersPeer) {
  EXPECT_EQ(*BuildBinomialTree({2, 3, 4, 0, 1}), (Neighbors{{4}, {2}, {1, 4, 3}, {2}, {2, 0}}));
}

TEST(BuildKnomialTreeTest, ReachesTheLargestTeams) {
  NodeOrder order(schedule::kNodeCountMax);
  std::iota(order.begin(), order.end(), 0);
  for (const uint32_t k : {2u, 1000u, schedule::kNodeCountMax}) {
    const auto tree = BuildKnomialTree(order, k).value();
    EXPECT_EQ(tree[order.size() - 1].size(), 1u);
  }
}

TEST(BuildKnomialTreeTest, RefusesBadInput) {
  ExpectRefusesBadOrders("knomial", [](const NodeOrder& order) { return BuildKnomialTree(order, 2); });
  ExpectRefusesBadOrders("binomial", BuildBinomialTree);
  EXPECT_THAT(BuildKnomialTree({0}, 0), FailsWith(kInvalid, "knomial", "k=0", "least=2"));
  EXPECT_THAT(BuildKnomialTree({0}, 1), FailsWith(kInvalid, "knomial", "k=1", "least=2"));
  EXPECT_THAT(BuildKnomialTree({0}, schedule::kNodeCountMax + 1),
              FailsWith(kInvalid, "knomial", "k=1048577", "least=2"));
}

}  // namespace
}  // namespace copse::planner
