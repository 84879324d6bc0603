// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/knomial_tree.h"

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
  for (const uint32_t k : {2u, 3u, 4u, 5u, 8u, 16u, 63u, 64u, 100u}) {
    for (uint32_t n = 1; n <= 64; ++n) {
      uint64_t power = 1;  // unless n is a power, a subtree is cut at n
      while (power < n) power *= k;
      const TreeBounds bounds = {
          .depth = CeilLog(k, n), .fanout = (k - 1) * CeilLog(k, n), .largest_first = power == n};
      for (const NodeOrder& order : OrdersOf(n)) {
        const auto tree = BuildKnomialTree(order, k);
        ASSERT_TRUE(tree.ok()) << tree.status();
        ExpectTree(*tree, order, bounds);
      }
    }
  }
}

// This is the barrier model's example: 16 nodes, k = 4: 0 is the root, 4, 8, 12 are inner, the others are leaves.
TEST(BuildKnomialTreeTest, FourNomialOfSixteenIsThePapers) {
  NodeOrder order(16);
  std::iota(order.begin(), order.end(), 0);
  const auto tree = BuildKnomialTree(order, 4);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ((*tree)[0], (std::vector<uint32_t>{4, 8, 12, 1, 2, 3}));
  EXPECT_EQ((*tree)[4], (std::vector<uint32_t>{0, 5, 6, 7}));
  EXPECT_EQ((*tree)[8], (std::vector<uint32_t>{0, 9, 10, 11}));
  EXPECT_EQ((*tree)[12], (std::vector<uint32_t>{0, 13, 14, 15}));
  for (const uint32_t leaf : {1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15}) EXPECT_EQ((*tree)[leaf].size(), 1u);
}

TEST(BuildKnomialTreeTest, ReachesTheLargestTeams) {
  NodeOrder order(schedule::kNodeCountMax);
  std::iota(order.begin(), order.end(), 0);
  for (const uint32_t k : {2u, 1000u, schedule::kNodeCountMax}) {
    const auto tree = BuildKnomialTree(order, k);
    ASSERT_TRUE(tree.ok()) << tree.status();
    EXPECT_EQ((*tree)[order.size() - 1].size(), 1u);
  }
}

TEST(BuildKnomialTreeTest, RefusesBadInput) {
  EXPECT_THAT(BuildKnomialTree({}, 4), FailsWith(kInvalid, "knomial", "nodes=0", "least=1"));
  EXPECT_THAT(BuildKnomialTree({0, 2}, 4), FailsWith(kInvalid, "knomial", "node=2", "nodes=2"));
  EXPECT_THAT(BuildKnomialTree({0}, 0), FailsWith(kInvalid, "knomial", "k=0", "least=2"));
  EXPECT_THAT(BuildKnomialTree({0}, 1), FailsWith(kInvalid, "knomial", "k=1", "least=2"));
  EXPECT_THAT(BuildKnomialTree({0}, schedule::kNodeCountMax + 1),
              FailsWith(kInvalid, "knomial", "k=1048577", "least=2"));
  const NodeOrder many(schedule::kNodeCountMax + 1, 0);
  EXPECT_THAT(BuildKnomialTree(many, 2), FailsWith(kInvalid, "knomial", "nodes=1048577", "limit=1048576"));
}

}  // namespace
}  // namespace copse::planner
