// SPDX-License-Identifier: Apache-2.0
//
// Properties of every tree, for the algorithms' tests.
#ifndef COPSE_PLANNER_ALGORITHMS_TESTING_TREE_PROPERTIES_H_
#define COPSE_PLANNER_ALGORITHMS_TESTING_TREE_PROPERTIES_H_

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/tree.h"
#include "schedule/plan.h"

namespace copse::planner {

// Returns the orders that the exhaustive tests use: 0..n-1, rotated so that each node is the root once, ascending and
// descending.
inline std::vector<NodeOrder> OrdersOf(uint32_t n) {
  std::vector<NodeOrder> orders;
  for (uint32_t root = 0; root < n; ++root) {
    NodeOrder order(n);
    for (uint32_t p = 0; p < n; ++p) order[p] = (root + p) % n;
    orders.push_back(order);
    for (uint32_t p = 0; p < n; ++p) order[p] = (root + n - p) % n;
    orders.push_back(order);
  }
  return orders;
}

// Returns the least d with base^d >= n.
inline uint32_t CeilLog(uint64_t base, uint64_t n) {
  uint32_t d = 0;
  for (uint64_t power = 1; power < n; power *= base) ++d;
  return d;
}

struct TreeBounds {
  uint32_t depth = 0;         // upper bound
  uint32_t fanout = 0;        // upper bound of children
  bool largest_first = true;  // children are served largest subtree first
};

// Checks that each node has one parent, which is first in its list and is reached from the root without a cycle; that
// links are mutual; that bounds hold; and that every subtree is a contiguous range of the order.
inline void ExpectTree(const Neighbors& neighbors, const NodeOrder& order, const TreeBounds& bounds) {
  const uint32_t n = static_cast<uint32_t>(order.size());
  ASSERT_EQ(neighbors.size(), n);
  std::vector<uint32_t> position(n);
  for (uint32_t p = 0; p < n; ++p) position[order[p]] = p;
  std::vector<uint32_t> depth(n, 0), size(n, 1), last(n);
  size_t links = 0;
  for (uint32_t p = 0; p < n; ++p) {
    const uint32_t v = order[p];
    last[v] = p;
    links += neighbors[v].size();
    const uint32_t children = static_cast<uint32_t>(neighbors[v].size()) - (p == 0 ? 0 : 1);
    ASSERT_LE(children, bounds.fanout);
    if (p == 0) continue;
    ASSERT_FALSE(neighbors[v].empty());
    const uint32_t parent = neighbors[v][0];
    ASSERT_LT(position[parent], p) << "a parent stands before its child, so there is no cycle";
    ASSERT_EQ(std::count(neighbors[parent].begin(), neighbors[parent].end(), v), 1);
    depth[v] = depth[parent] + 1;
    ASSERT_LE(depth[v], bounds.depth);
  }
  ASSERT_EQ(links, 2 * size_t{n - 1}) << "no links but those of the tree";
  for (uint32_t p = n; p-- > 1;) {
    const uint32_t v = order[p], parent = neighbors[v][0];
    size[parent] += size[v];
    last[parent] = std::max(last[parent], last[v]);
  }
  for (uint32_t p = 0; p < n; ++p) {
    const uint32_t v = order[p];
    ASSERT_EQ(last[v], p + size[v] - 1) << "contiguous";
    for (size_t i = p == 0 ? 1 : 2; bounds.largest_first && i < neighbors[v].size(); ++i) {
      ASSERT_GE(size[neighbors[v][i - 1]], size[neighbors[v][i]]) << "largest first";
    }
  }
  const std::vector<uint32_t> directed = DirectFrom(neighbors, order[0]);
  for (uint32_t p = 0; p < n; ++p) ASSERT_EQ(directed[order[p]], p == 0 ? kNoTreeParent : neighbors[order[p]][0]);
}

// Checks the trees of all sizes up to 64 and all roots. `bounds` gives those of n nodes.
template <typename Build, typename Bounds>
void ExpectTrees(const Build& build, const Bounds& bounds) {
  for (uint32_t n = 1; n <= 64; ++n) {
    for (const NodeOrder& order : OrdersOf(n)) {
      const auto tree = build(order);
      ASSERT_TRUE(tree.ok()) << tree.status();
      ExpectTree(*tree, order, bounds(n));
    }
  }
}

// Checks that `build` refuses orders that are empty, too long, or no permutations.
template <typename Build>
void ExpectRefusesBadOrders(const char* algorithm, const Build& build) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(build({}), testing::FailsWith(kInvalid, algorithm, "nodes=0", "least=1"));
  EXPECT_THAT(build({1, 1}), testing::FailsWith(kInvalid, algorithm, "node=1", "nodes=2"));
  EXPECT_THAT(build({0, 2}), testing::FailsWith(kInvalid, algorithm, "node=2", "nodes=2"));
  const NodeOrder many(schedule::kNodeCountMax + 1, 0);
  EXPECT_THAT(build(many), testing::FailsWith(kInvalid, algorithm, "nodes=1048577", "limit=1048576"));
}

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TESTING_TREE_PROPERTIES_H_
