// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/block_tree.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/testing/broadcast_names.h"
#include "planner/topology/generate.h"

namespace copse::planner {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Makes nodes with these overheads on one switch; links take 5 ns, so a path takes 10 ns, at 1 byte a ns.
topology::Topology Star(const std::vector<std::pair<int64_t, int64_t>>& overheads) {
  std::vector<topology::Node> nodes;
  for (const auto& [send, receive] : overheads) {
    nodes.push_back({.name = absl::StrCat("n", nodes.size()),
                     .overhead_ns = send,
                     .receive_overhead_ns = receive,
                     .latency_ns = 5,
                     .bandwidth_bytes_per_s = 1'000'000'000});
  }
  return topology::Topology::Create({{.name = "core"}}, std::move(nodes)).value();
}

// Makes a cluster with random overheads (to send and to receive), latencies and rates.
topology::Topology RandomCluster(Prng& prng, uint32_t nodes) {
  std::vector<topology::Switch> switches = {{.name = "core"}};
  const auto figure = [&] { return static_cast<int64_t>(1 + prng.Below(300)); };
  for (const char* name : {"a", "b"}) switches.push_back({name, 0, figure(), 1'000'000'000 / figure()});
  std::vector<topology::Node> all;
  for (uint32_t v = 0; v < nodes; ++v) {
    all.push_back({.name = absl::StrCat("n", v),
                   .parent = static_cast<uint32_t>(prng.Below(3)),
                   .overhead_ns = figure(),
                   .receive_overhead_ns = figure(),
                   .latency_ns = figure(),
                   .bandwidth_bytes_per_s = 1'000'000'000 / figure()});
  }
  return topology::Topology::Create(std::move(switches), std::move(all)).value();
}

BlockCosts CostsOf(const topology::Topology& topology, uint64_t block_bytes) {
  return BlockCosts::Create(&topology, block_bytes).value();
}

// Returns all trees over n nodes, breadth first, children by number.
std::vector<BroadcastTree> AllTrees(uint32_t n, uint32_t root) {
  std::vector<BroadcastTree> trees;
  std::vector<uint32_t> parent(n, 0);
  for (bool more = true; more;) {
    BroadcastTree tree{.root = root};
    std::vector<uint32_t> reached = {root};
    for (size_t i = 0; i < reached.size(); ++i) {
      for (uint32_t v = 0; v < n; ++v) {
        if (v == root || parent[v] != reached[i] || v == reached[i]) continue;
        tree.edges.push_back({reached[i], v});
        reached.push_back(v);
      }
    }
    if (reached.size() == n) trees.push_back(tree);
    more = false;
    for (uint32_t v = 0; v < n && !more; ++v) {
      if (v == root) continue;
      more = ++parent[v] < n;
      if (!more) parent[v] = 0;
    }
  }
  return trees;
}

TEST(BlockCostsTest, AMessageOfOneBlockIsABroadcasts) {
  Prng prng(1);
  const topology::Topology cluster = RandomCluster(prng, 9);
  const BlockCosts costs = CostsOf(cluster, 13);
  for (uint32_t i = 0; i < 9; ++i) {
    for (uint32_t j = 0; j < 9; ++j) {
      if (i == j) continue;
      EXPECT_EQ(costs.Between(i, j, 1).latency_ns, costs.OfOne().Latency(i, j));
      EXPECT_EQ(costs.Between(i, j, 1).stream_ns, costs.OfOne().Stream(i, j));
      EXPECT_EQ(costs.Between(i, j, 9).stream_ns, costs.OfAll().Stream(i, j));
      EXPECT_EQ(costs.Mirrored().Between(i, j, 4).stream_ns, costs.Of(4)->Stream(i, j));
    }
    EXPECT_EQ(costs.Mirrored().Send(i), costs.Receive(i));
    EXPECT_EQ(costs.Mirrored().Of(2)->Send(i), costs.Receive(i));
    EXPECT_EQ(costs.Mirrored().Mirrored().Of(2)->Send(i), costs.Send(i));
  }
  EXPECT_THAT(BlockCosts::Create(&cluster, uint64_t{1} << 32), FailsWith(kInvalid, "message", "bytes=38654705664"));
}

TEST(BlockTreeTest, AScatterCalculatedByHand) {
  const topology::Topology cluster = Star({{3, 4}, {5, 6}, {7, 8}, {9, 1}});
  const BlockCosts costs = CostsOf(cluster, 100);
  // Node 0 sends to 1, which sends to 3; then 0 sends to 2.
  const BroadcastTree tree{.root = 0, .edges = {{0, 1}, {1, 3}, {0, 2}}};
  EXPECT_THAT(SubtreeBlocks(tree), ElementsAre(4, 2, 1, 1));
  // 0 is busy for 3 + 199 with two blocks, and 1 has them 10 + 6 later: 218. 1 is busy for 5 + 99: 322, and 3 has its
  // block at 322 + 10 + 1. 0 is busy with 2's until 202 + 3 + 99 = 304, and 2 has it at 304 + 10 + 8.
  EXPECT_EQ(ScatterCompletion(costs, tree), 333);
  EXPECT_EQ(ScatterCompletion(costs, {.root = 0, .edges = {{0, 2}, {0, 1}, {1, 3}}}), 102 + 202 + 16 + 104 + 11);
  EXPECT_THAT(WithFallingTailsOfBlocks(costs, {.root = 0, .edges = {{0, 2}, {0, 1}, {1, 3}}}).edges,
              ElementsAre(BroadcastEdge{0, 1}, BroadcastEdge{0, 2}, BroadcastEdge{1, 3}));
}

TEST(BlockTreeTest, AGatherCalculatedByHand) {
  const topology::Topology cluster = Star({{3, 4}, {5, 6}, {7, 8}, {9, 1}});
  const BlockCosts costs = CostsOf(cluster, 100);
  const BroadcastTree tree{.root = 0, .edges = {{0, 1}, {1, 3}, {0, 2}}};
  // The last edge first: 2's head is at 0 at 7 + 10, and 0 is busy with it for 4 + 99: 120. 3's is at 1 at 9 + 10, and
  // 1 has it at 19 + 6 + 99 = 124. 1's head is at 0 at 124 + 5 + 10 = 139, and 0 has both blocks at 139 + 4 + 199.
  EXPECT_EQ(GatherCompletion(costs, tree), 342);
  // Then all four blocks go to all nodes, 399 ns each: 1 has them at 3 + 399 + 16 = 418, 3 at 418 + 5 + 399 + 11 = 833,
  // and 2 at 402 + 402 + 18 = 822.
  EXPECT_EQ(BlockTreesOf(tree, costs, BlockCollective::kAllgather).completion_ns, 342 + 833);
  EXPECT_EQ(BlockTreesOf(tree, costs, BlockCollective::kGather).completion_ns, 342);
  EXPECT_EQ(BlockTreesOf(tree, costs, BlockCollective::kScatter).completion_ns, 333);
}

TEST(BlockTreeTest, AGatherIsAScatterOfReversedTime) {
  Prng prng(2);
  for (int round = 0; round < 200; ++round) {
    const uint32_t n = 1 + static_cast<uint32_t>(prng.Below(20));
    const topology::Topology cluster = RandomCluster(prng, n);
    const BlockCosts costs = CostsOf(cluster, prng.Below(20));
    BroadcastTree tree{.root = 0};
    for (uint32_t v = 1; v < n; ++v) tree.edges.push_back({static_cast<uint32_t>(prng.Below(v)), v});
    EXPECT_EQ(GatherCompletion(costs, tree), ScatterCompletion(costs.Mirrored(), tree));
  }
}

TEST(BlockTreeTest, NoOrderOfChildrenBeatsFallingTails) {
  Prng prng(3);
  for (int round = 0; round < 60; ++round) {
    const uint32_t n = 5;
    const topology::Topology cluster = RandomCluster(prng, n);
    const BlockCosts costs = CostsOf(cluster, 1 + prng.Below(10));
    for (const BroadcastTree& tree : AllTrees(n, 1)) {
      const BroadcastTree ordered = WithFallingTailsOfBlocks(costs, tree);
      ASSERT_TRUE(CheckBroadcastTree(ordered, n).ok());
      ASSERT_EQ(ordered.completion_ns, ScatterCompletion(costs, ordered));
      // Any order of the edges in which every node receives before it sends gives an order of every node's children.
      BroadcastTree other = tree;
      std::vector<size_t> order = {0, 1, 2, 3};
      do {
        for (size_t i = 0; i < order.size(); ++i) other.edges[i] = tree.edges[order[i]];
        if (!CheckBroadcastTree(other, n).ok()) continue;
        ASSERT_LE(ordered.completion_ns, ScatterCompletion(costs, other));
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

// Returns the time of the fastest of all trees.
int64_t OptimalScatter(const BlockCosts& costs, uint32_t root) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (const BroadcastTree& tree : AllTrees(costs.node_count(), root)) {
    best = std::min(best, WithFallingTailsOfBlocks(costs, tree).completion_ns);
  }
  return best;
}

TEST(BlockTreeTest, BestIsNearTheOptimumOfFewNodes) {
  for (const std::string& kind : topology::GeneratedKinds()) {
    double ratios = 0, worst = 0;
    constexpr int kClusters = 30;
    for (uint64_t seed = 1; seed <= kClusters; ++seed) {
      const auto cluster = topology::GenerateTopology(kind, 6, seed).value();
      const BlockCosts costs = CostsOf(cluster, seed % 2 == 0 ? 1024 : 102'400);
      const auto trees = BuildBlockTrees("best", costs, BlockCollective::kScatter, 0).value();
      const double ratio = static_cast<double>(trees.completion_ns) / static_cast<double>(OptimalScatter(costs, 0));
      EXPECT_GE(ratio, 1);
      ratios += ratio / kClusters;
      worst = std::max(worst, ratio);
    }
    EXPECT_LE(ratios, 1.01) << kind;
    EXPECT_LE(worst, 1.1) << kind;
  }
}

TEST(BlockTreeTest, BestIsNeverSlowerThanTheOthers) {
  for (const uint32_t nodes : {1u, 2u, 3u, 17u, 40u}) {
    const auto cluster = topology::GenerateTopology("mgo", nodes, 5).value();
    const BlockCosts costs = CostsOf(cluster, 1024);
    for (const BlockCollective collective :
         {BlockCollective::kScatter, BlockCollective::kGather, BlockCollective::kAllgather}) {
      const auto best = BuildBlockTrees("best", costs, collective, nodes / 2).value();
      for (const std::string& name : BroadcastNames({2, 3, 4, 8, 16})) {
        if (name == "optimal") continue;
        const auto trees = BuildBlockTrees(name, costs, collective, nodes / 2);
        ASSERT_TRUE(trees.ok()) << name << trees.status();
        EXPECT_LE(best.completion_ns, trees->completion_ns) << name;
        EXPECT_EQ(trees->up.edges.empty(), collective == BlockCollective::kScatter || nodes == 1);
        EXPECT_EQ(trees->down.edges.empty(), collective == BlockCollective::kGather || nodes == 1);
        EXPECT_EQ(trees->completion_ns, BlockCompletion(costs, *trees, collective));
        for (const BroadcastTree* tree : {&trees->up, &trees->down}) {
          if (tree->edges.empty()) continue;
          EXPECT_TRUE(CheckBroadcastTree(*tree, nodes).ok()) << name;
        }
      }
    }
  }
}

TEST(BlockTreeTest, ErrorsAndNames) {
  const topology::Topology cluster = Star({{3, 4}, {5, 6}});
  const BlockCosts costs = CostsOf(cluster, 8);
  const auto error = [&](const char* name, uint32_t root) {
    return BuildBlockTrees(name, costs, BlockCollective::kGather, root).status();
  };
  EXPECT_THAT(error("dance", 0), FailsWith(kInvalid, "algorithm", "name=dance"));
  EXPECT_THAT(error("OPTIMAL", 0), FailsWith(kInvalid, "algorithm=optimal", "collective=gather"));
  EXPECT_THAT(error("best", 2), FailsWith(kInvalid, "root=2", "nodes=2"));
  for (const auto collective : {BlockCollective::kScatter, BlockCollective::kGather, BlockCollective::kAllgather}) {
    EXPECT_EQ(BlockCollectiveFromName(BlockCollectiveName(collective)), collective);
  }
  EXPECT_FALSE(BlockCollectiveFromName("bcast").has_value());
}

}  // namespace
}  // namespace copse::planner
