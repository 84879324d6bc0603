// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/block_run.h"

#include <string>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/topology/generate.h"

namespace copse::sim {
namespace {

using planner::BlockCollective;
using planner::BroadcastTree;
using testing::FailsWith;

constexpr BlockCollective kAll[] = {BlockCollective::kScatter, BlockCollective::kGather, BlockCollective::kAllgather};

BroadcastTree RandomTree(Prng& prng, uint32_t n) {
  BroadcastTree tree{.root = 0};
  for (uint32_t v = 1; v < n; ++v) tree.edges.push_back({static_cast<uint32_t>(prng.Below(v)), v});
  return tree;
}

TEST(BlockRunTest, EventsTakeWhatTheRecurrenceSays) {
  Prng prng(1);
  for (uint64_t round = 0; round < 60; ++round) {
    const uint32_t n = 1 + static_cast<uint32_t>(prng.Below(60));
    const std::vector<std::string> kinds = topology::GeneratedKinds();
    const auto cluster = topology::GenerateTopology(kinds[round % kinds.size()], n, round);
    ASSERT_TRUE(cluster.ok());
    const auto costs = planner::BlockCosts::Create(&*cluster, prng.Below(5000));
    ASSERT_TRUE(costs.ok()) << costs.status();
    const BroadcastTree tree = RandomTree(prng, n);
    for (const BlockCollective collective : kAll) {
      const planner::BlockTrees trees = planner::BlockTreesOf(tree, *costs, collective);
      const auto run = RunBlocks(trees, *costs, collective);
      ASSERT_TRUE(run.ok()) << run.status();
      EXPECT_EQ(run->total_ns, trees.completion_ns) << planner::BlockCollectiveName(collective) << " " << n;
      EXPECT_EQ(run->messages, (collective == BlockCollective::kAllgather ? 2 : 1) * (n - 1));
      EXPECT_EQ(run->trace_hash, RunBlocks(trees, *costs, collective)->trace_hash);
    }
  }
}

TEST(BlockRunTest, TreesOfTheAlgorithmsCarryEverything) {
  const auto cluster = topology::GenerateTopology("mgo", 48, 3);
  ASSERT_TRUE(cluster.ok());
  const auto costs = planner::BlockCosts::Create(&*cluster, 1024);
  ASSERT_TRUE(costs.ok());
  for (const char* algorithm : {"FT", "BT", "kary-2", "MGO", "best"}) {
    for (const BlockCollective collective : kAll) {
      const auto trees = planner::BuildBlockTrees(algorithm, *costs, collective, 5);
      ASSERT_TRUE(trees.ok()) << trees.status();
      const auto run = RunBlocks(*trees, *costs, collective);
      ASSERT_TRUE(run.ok()) << run.status();
      EXPECT_EQ(run->total_ns, trees->completion_ns) << algorithm;
      if (std::string(algorithm) == "FT" && collective != BlockCollective::kAllgather) {
        EXPECT_EQ(run->bytes, 47u * 1024);
      }
    }
  }
}

TEST(BlockRunTest, RefusesWhatIsNoTreeAndWhatIsTooMuch) {
  const auto cluster = topology::GenerateTopology("racks", 20'001, 1);
  ASSERT_TRUE(cluster.ok());
  const auto costs = planner::BlockCosts::Create(&*cluster, 8);
  ASSERT_TRUE(costs.ok());
  BroadcastTree chain{.root = 0};
  for (uint32_t v = 1; v < costs->node_count(); ++v) chain.edges.push_back({v - 1, v});
  planner::BlockTrees trees;
  trees.down = chain;
  const auto error = [&] { return RunBlocks(trees, *costs, BlockCollective::kScatter).status(); };
  EXPECT_THAT(error(), FailsWith(absl::StatusCode::kResourceExhausted, "blocks=200010000", "limit=200000000"));
  trees.down.edges.pop_back();
  EXPECT_THAT(error(), FailsWith(absl::StatusCode::kInvalidArgument, "edges=19999", "nodes=20001"));
}

}  // namespace
}  // namespace copse::sim
