// SPDX-License-Identifier: Apache-2.0
#include "planner/measure/sampling.h"

#include <gtest/gtest.h>

#include <set>

#include "base/prng.h"
#include "planner/measure/link_paths.h"
#include "planner/measure/testing/random_tree.h"

namespace copse::measure {
namespace {

std::vector<bool> Covered(const topology::Topology& tree, const std::vector<NodePair>& pairs) {
  const LinkPaths paths(&tree);
  std::vector<bool> covered(paths.link_count());
  std::vector<uint32_t> links;
  for (const NodePair& pair : pairs) {
    paths.Between(pair, &links);
    for (const uint32_t link : links) covered[link] = true;
  }
  return covered;
}

TEST(SampleTreeTest, CoversEveryLinkWithPairsLinearInTheTree) {
  ForRandomTrees(200, 4, [&](const topology::Topology& tree, Prng*) {
    const std::vector<NodePair> pairs = SampleTree(tree, std::vector<bool>(tree.nodes().size(), true));
    EXPECT_LT(pairs.size(), 4 * (tree.nodes().size() + tree.switches().size()));
    EXPECT_EQ(std::set<NodePair>(pairs.begin(), pairs.end()).size(), pairs.size());
    const std::vector<bool> covered = Covered(tree, pairs);
    for (uint32_t link = 0; link < covered.size(); ++link) {
      EXPECT_TRUE(covered[link] || link == tree.root_switch()) << "link " << link;
    }
  });
}

TEST(SampleTreeTest, CoveringPairsComeFirst) {
  Prng prng(3);
  const topology::Topology tree = RandomTree(&prng, 4);
  const std::vector<NodePair> pairs = SampleTree(tree, std::vector<bool>(tree.nodes().size(), true));
  // Every covering pair adds a link, so at most this many pairs cover the links.
  const size_t links = tree.nodes().size() + tree.switches().size() - 1;
  const std::vector<NodePair> first(pairs.begin(),
                                    pairs.begin() + static_cast<ptrdiff_t>(std::min(links, pairs.size())));
  EXPECT_EQ(Covered(tree, first), Covered(tree, pairs));
}

TEST(SampleTreeTest, LeavesOutNodesThatTakeNoPart) {
  ForRandomTrees(50, 3, [&](const topology::Topology& tree, Prng* prng) {
    std::vector<bool> nodes(tree.nodes().size());
    for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = prng->Chance(0.5);
    for (const NodePair& pair : SampleTree(tree, nodes)) {
      EXPECT_TRUE(nodes[pair.a] && nodes[pair.b]);
      EXPECT_LT(pair.a, pair.b);
    }
  });
}

TEST(SampleTreeTest, OneNodeHasNobodyToMeasure) {
  const topology::Topology tree = *topology::FlatTopology({"a"});
  EXPECT_TRUE(SampleTree(tree, {true}).empty());
  EXPECT_TRUE(SampleTree(tree, {false}).empty());
}

TEST(AllPairsTest, EveryPairOnceAndNeighborsInTheListRarelyShareANode) {
  for (uint32_t n = 0; n <= 20; ++n) {
    std::vector<uint32_t> nodes;
    for (uint32_t i = 0; i < n; ++i) nodes.push_back(3 * i);
    const std::vector<NodePair> pairs = AllPairs(nodes);
    EXPECT_EQ(std::set<NodePair>(pairs.begin(), pairs.end()).size(), pairs.size());
    EXPECT_EQ(pairs.size(), n * (n - (n > 0 ? 1 : 0)) / 2);
    // In a round every node appears at most once.
    const size_t round = n / 2;
    for (size_t begin = 0; round > 0 && begin < pairs.size(); begin += round) {
      std::set<uint32_t> seen;
      for (size_t i = begin; i < begin + round; ++i) {
        EXPECT_TRUE(seen.insert(pairs[i].a).second);
        EXPECT_TRUE(seen.insert(pairs[i].b).second);
      }
    }
  }
}

}  // namespace
}  // namespace copse::measure
