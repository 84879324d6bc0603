// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/broadcast_costs.h"

#include <string>
#include <vector>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/random_costs.h"

namespace copse::planner {
namespace {
using testing::FailsWith;
using topology::kNoParent;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Nodes 0 and 1 are on switch 4, node 2 is on switch 5; both switches are below switch 3; switch 6 has no nodes.
const CostTree kTree = {
    .parent = {4, 4, 5, kNoParent, 3, 3, 5},
    .latency_ns = {1, 2, 4, 0, 8, 16, 32},
    .bandwidth_bytes_per_s = {1'000'000'000, 500'000'000, 250'000'000, 0, 100'000'000, 200'000'000, 1}};

TEST(BroadcastCostsTest, SumsLatenciesAndTakesTheSlowestLink) {
  const auto costs = BroadcastCosts::FromTree(kTree, {10, 20, 30}, {11, 21, 31}, 101).value();
  EXPECT_EQ(costs.node_count(), 3u);
  EXPECT_EQ(costs.vertex_count(), 6u) << "without the switch that has no nodes";
  EXPECT_EQ(costs.Latency(0, 1), 3);
  EXPECT_EQ(costs.Stream(0, 1), 200);
  EXPECT_EQ(costs.Latency(0, 2), 1 + 8 + 16 + 4);
  EXPECT_EQ(costs.Stream(2, 0), 1000);
  EXPECT_EQ(costs.Busy(0, 2), 10 + 1000);
  EXPECT_EQ(costs.Travel(0, 2), 29 + 31);
  EXPECT_EQ(costs.Cost(0, 2), costs.Busy(0, 2) + costs.Travel(0, 2));
}

TEST(BroadcastCostsTest, FromATopologyIsItsPaths) {
  const auto topology =
      topology::Topology::Create(
          {{.name = "core"}, {.name = "rack", .parent = 0, .latency_ns = 100, .bandwidth_bytes_per_s = 1'000'000}},
          {{.name = "a", .parent = 0, .overhead_ns = 5, .latency_ns = 7, .bandwidth_bytes_per_s = 2'000'000},
           {.name = "b",
            .parent = 1,
            .overhead_ns = 6,
            .receive_overhead_ns = 9,
            .latency_ns = 8,
            .bandwidth_bytes_per_s = 3'000'000},
           {.name = "c", .parent = 1, .overhead_ns = 4, .latency_ns = 9, .bandwidth_bytes_per_s = 4'000'000}})
          .value();
  const auto costs = BroadcastCosts::FromTopology(topology, std::vector<uint32_t>{2, 0}, 1001).value();
  EXPECT_EQ(costs.Latency(0, 1), topology.PathBetween(2, 0).latency_ns);
  EXPECT_EQ(costs.Stream(0, 1), 1'000'000);
  EXPECT_EQ(costs.Send(1), 5);
  const auto all = BroadcastCosts::FromTopology(topology, 1001).value();
  EXPECT_EQ(all.Send(1), 6);
  EXPECT_EQ(all.Receive(1), 9);
  EXPECT_EQ(all.Receive(2), 4);
  EXPECT_THAT(BroadcastCosts::FromTopology(topology, std::vector<uint32_t>{3}, 1),
              FailsWith(kInvalid, "team", "place=3", "nodes=3"));
}

TEST(BroadcastCostsTest, AMatrixChangesNothing) {
  Prng prng(1);
  for (int round = 0; round < 20; ++round) {
    const BroadcastCosts tree = RandomTreeCosts(prng, 30);
    BroadcastCosts filled = tree;
    filled.FillMatrix();
    ASSERT_TRUE(filled.has_matrix());
    const BroadcastCosts mirror = filled.Mirrored();
    for (uint32_t i = 0; i < tree.node_count(); ++i) {
      ASSERT_EQ(mirror.Send(i), tree.Receive(i));
      for (uint32_t j = 0; j < tree.node_count(); ++j) {
        if (i == j) continue;
        ASSERT_EQ(tree.Latency(i, j), filled.Latency(i, j));
        ASSERT_EQ(tree.Stream(i, j), filled.Stream(i, j));
        ASSERT_EQ(mirror.Cost(j, i), filled.Cost(i, j));
      }
    }
  }
}

TEST(BroadcastCostsTest, RefusesBadTrees) {
  const auto error = [](const CostTree& tree) {
    return BroadcastCosts::FromTree(tree, {1, 1, 1}, {1, 1, 1}, 10).status();
  };
  EXPECT_EQ(error(kTree), absl::OkStatus());
  CostTree tree = kTree;
  tree.parent[5] = kNoParent;
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "tree", "vertices=3", "and 5"));
  tree.parent[5] = 4, tree.parent[4] = 5;
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "tree", "vertices=7", "order=5"));
  tree = kTree;
  tree.parent[0] = 1;
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "tree", "vertex 0", "parent=1"));
  tree.parent[0] = 7;
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "parent=7"));
  tree.parent[0] = kNoParent;
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "vertex 0"));
  tree = kTree;
  tree.latency_ns[1] = -1;
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "link 1", "latency_ns=-1"));
  tree = kTree;
  tree.bandwidth_bytes_per_s[4] = 0;
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "link 4", "bandwidth=0"));
  tree = kTree;
  tree.latency_ns.pop_back();
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "tree", "nodes=3", "parents=7"));
  tree = {.parent = {3, 3, 3}, .latency_ns = {1, 1, 1}, .bandwidth_bytes_per_s = {1, 1, 1}};
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "tree", "nodes=3", "parents=3"));
  // The nodes sit below a chain of 70 switches.
  tree = {};
  for (uint32_t v = 0; v < 73; ++v) {
    tree.parent.push_back(v < 3 ? 72 : v == 3 ? kNoParent : v - 1);
    tree.latency_ns.push_back(1);
    tree.bandwidth_bytes_per_s.push_back(1);
  }
  EXPECT_THAT(error(tree), FailsWith(kInvalid, "tree", "vertex=68", "limit=64"));
}

TEST(BroadcastCostsTest, RefusesBadFigures) {
  const auto error = [](std::vector<int64_t> send, std::vector<int64_t> receive, uint64_t bytes) {
    return BroadcastCosts::FromTree(kTree, send, receive, bytes).status();
  };
  EXPECT_THAT(error({}, {}, 1), FailsWith(kInvalid, "overheads", "send=0", "receive=0"));
  EXPECT_THAT(error({1, 1, 1}, {1, 1}, 1), FailsWith(kInvalid, "overheads", "send=3", "receive=2"));
  EXPECT_THAT(error({1, -1, 1}, {1, 1, 1}, 1), FailsWith(kInvalid, "overhead", "ns=-1"));
  EXPECT_THAT(error({1, 1, 1}, {1, topology::kTimeNsMax + 1, 1}, 1),
              FailsWith(kInvalid, "overhead", "ns=1000000000001", "limit=1000000000000"));
  EXPECT_THAT(error({1, 1, 1}, {1, 1, 1}, (uint64_t{1} << 33) + 1),
              FailsWith(kInvalid, "message", "bytes=8589934593", "limit=8589934592"));
  CostTree slow = kTree;
  slow.bandwidth_bytes_per_s[0] = 1;
  const std::vector<int64_t> ones = {1, 1, 1};
  EXPECT_THAT(BroadcastCosts::FromTree(slow, ones, ones, uint64_t{1} << 33),
              FailsWith(kInvalid, "costs", "ns=2305843009213693994", "nodes=3"));
}

}  // namespace
}  // namespace copse::planner
