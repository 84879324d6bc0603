// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/broadcast_algorithms.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/algorithms/lower_bound.h"
#include "planner/algorithms/search/falling_tail.h"
#include "planner/algorithms/search/tree_greedy.h"
#include "planner/algorithms/testing/broadcast_names.h"
#include "planner/algorithms/testing/random_costs.h"
#include "planner/algorithms/trees/earliest_completion_first.h"
#include "planner/algorithms/trees/mgo.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::vector<std::string> NamesFor(const BroadcastCosts& costs) {
  std::vector<std::string> names;
  for (const std::string& name : BroadcastNames({2, 3, 5})) {
    if (name == "optimal" && costs.node_count() > 6) continue;
    names.push_back(name);
  }
  return names;
}

// Checks the properties of a broadcast's tree for every algorithm.
void ExpectAllSound(const BroadcastCosts& costs, uint32_t root) {
  const int64_t bound = LowerBoundNs(costs, root);
  int64_t best = 0, fastest = 0, optimal = 0;
  for (const std::string& name : NamesFor(costs)) {
    SCOPED_TRACE(name);
    const auto tree = BuildBroadcast(name, costs, root).value();
    ASSERT_EQ(tree.root, root);
    ASSERT_TRUE(CheckBroadcastTree(tree, costs.node_count()).ok());
    ASSERT_EQ(tree.completion_ns, Completion(costs, tree.edges));
    ASSERT_GE(tree.completion_ns, bound);
    const BroadcastTree ordered = WithFallingTails(costs, tree);
    ASSERT_TRUE(CheckBroadcastTree(ordered, costs.node_count()).ok());
    ASSERT_EQ(ordered.completion_ns, Completion(costs, ordered.edges));
    ASSERT_LE(ordered.completion_ns, tree.completion_ns);
    // By reversal of time the completion is the mirrored cluster's many-to-one.
    ASSERT_EQ(ManyToOneCompletion(costs.Mirrored(), tree.edges, root), tree.completion_ns);
    ASSERT_EQ(BuildBroadcast(name, costs, root)->edges, tree.edges) << "deterministic";
    if (name == "best") best = tree.completion_ns;
    if (fastest == 0 || ordered.completion_ns < fastest) fastest = ordered.completion_ns;
    if (name == "optimal") optimal = tree.completion_ns;
  }
  if (optimal > 0) {
    ASSERT_EQ(fastest, optimal) << "nobody beats the optimum";
    ASSERT_LE(100 * best, 112 * optimal);
  } else {
    ASSERT_EQ(best, fastest) << "best is never beaten";
  }
}

// Calls `check(costs, root, prng)` for random clusters with random roots, until one fails.
template <typename Check>
void ForRandomClusters(uint64_t seed, int rounds, uint32_t nodes_max, const Check& check) {
  Prng prng(seed);
  for (int round = 0; round < rounds && !::testing::Test::HasFatalFailure(); ++round) {
    SCOPED_TRACE(round);
    const BroadcastCosts costs = RandomTreeCosts(prng, nodes_max);
    check(costs, static_cast<uint32_t>(prng.Below(costs.node_count())), prng);
  }
}

TEST(BroadcastAlgorithmsTest, AreSoundOnRandomTrees) {
  Prng prng(1);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    BroadcastCosts costs = RandomTreeCosts(prng, round % 4 > 0 ? 7 : 40);
    if (prng.Below(2) == 0) costs.FillMatrix();
    ExpectAllSound(costs, static_cast<uint32_t>(prng.Below(costs.node_count())));
    if (HasFatalFailure()) return;
  }
}

TEST(BuildMgoTest, GivesTheSameEdgesAsThePaperStepByStep) {
  ForRandomClusters(3, 1500, 40, [](const BroadcastCosts& costs, uint32_t root, Prng&) {
    const BroadcastTree plain = BuildMgoPlainly(costs, root), fast = BuildMgo(costs, root);
    ASSERT_EQ(plain.edges, fast.edges);
    ASSERT_EQ(plain.phase1_edges, fast.phase1_edges);
    ASSERT_EQ(plain.completion_ns, fast.completion_ns);
  });
}

TEST(BuildEarliestCompletionTest, OnTheTreeAndByPairsAreTheSame) {
  ForRandomClusters(5, 1500, 40, [](const BroadcastCosts& costs, uint32_t root, Prng&) {
    const BroadcastTree by_pairs = BuildEarliestCompletionFirst(costs, root, Accounting::kSound);
    ASSERT_EQ(by_pairs.edges, BuildEarliestCompletionOnTree(costs, root).edges);
  });
}

// Computes earliest completion with a bias for each receiver, and with urgent switches, without a tournament.
std::vector<BroadcastEdge> UrgentPlainly(const BroadcastCosts& costs, uint32_t root, const std::vector<int64_t>& bias,
                                         std::vector<int64_t> urgency) {
  const uint32_t n = costs.node_count();
  std::vector<BroadcastEdge> edges;
  std::vector<int64_t> ready(n, 0);
  std::vector<bool> has(n, false);
  const auto reach = [&](uint32_t node) {
    has[node] = true;
    for (uint32_t v = costs.ParentOf(node); v != topology::kNoParent; v = costs.ParentOf(v)) urgency[v] = 0;
  };
  reach(root);
  while (edges.size() + 1 < n) {
    int64_t best = std::numeric_limits<int64_t>::max();
    BroadcastEdge chosen;
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; has[i] && j < n; ++j) {
        if (has[j]) continue;
        int64_t score = ready[i] + costs.Cost(i, j) + bias[j];
        for (uint32_t v = costs.ParentOf(j); v != topology::kNoParent; v = costs.ParentOf(v)) score -= urgency[v];
        if (score >= best) continue;
        best = score;
        chosen = {i, j};
      }
    }
    ready[chosen.from] += costs.Busy(chosen.from, chosen.to);
    ready[chosen.to] = ready[chosen.from] + costs.Travel(chosen.from, chosen.to);
    reach(chosen.to);
    edges.push_back(chosen);
  }
  return edges;
}

TEST(BuildEarliestCompletionTest, BiasAndUrgencyCountAsTheyAreGiven) {
  ForRandomClusters(9, 1000, 40, [](const BroadcastCosts& costs, uint32_t root, Prng& prng) {
    std::vector<int64_t> bias(costs.node_count()), urgency(costs.vertex_count());
    for (int64_t& ns : bias) ns = static_cast<int64_t>(prng.Below(50));
    for (int64_t& ns : urgency) ns = static_cast<int64_t>(prng.Below(2) * prng.Below(3000));
    const BroadcastTree tree = BuildEarliestCompletionOnTree(costs, root, bias, urgency);
    ASSERT_EQ(tree.edges, UrgentPlainly(costs, root, bias, urgency));
    ASSERT_EQ(tree.completion_ns, Completion(costs, tree.edges));
  });
}

TEST(UrgencyOfTest, IsWhatASubClusterTakesBeyondItsSlowestPart) {
  // There are two switches below the top: nodes 0 and 1 are below the first, 2 and 3 below the second.
  const CostTree tree{.parent = {5, 5, 6, 6, topology::kNoParent, 4, 4},
                      .latency_ns = {1, 1, 1, 1, 0, 100, 100},
                      .bandwidth_bytes_per_s = std::vector<int64_t>(7, 1'000'000'000)};
  const auto costs = BroadcastCosts::FromTree(tree, {10, 10, 10, 10}, {5, 5, 5, 5}, 1).value();
  const std::vector<BroadcastEdge> edges = {{0, 1}, {0, 2}, {2, 3}};
  // The arrivals are 0; 10 + 2 + 5; 20 + 202 + 5; 227 + 10 + 2 + 5.
  ASSERT_EQ(Arrivals(costs, edges), (std::vector<int64_t>{0, 17, 227, 244}));
  const std::vector<int64_t> urgency = UrgencyOf(costs, {.root = 0, .edges = edges});
  EXPECT_EQ(urgency, (std::vector<int64_t>{0, 0, 0, 0, 244 - 17, 17, 17}));
}

// Runs look-ahead as listed, without remembering scores.
std::vector<BroadcastEdge> LookAheadPlainly(const BroadcastCosts& costs, uint32_t root, Accounting accounting) {
  const uint32_t n = costs.node_count();
  std::vector<BroadcastEdge> edges;
  std::vector<int64_t> ready(n, 0);
  std::vector<bool> has(n, false);
  has[root] = true;
  while (edges.size() + 1 < n) {
    int64_t best = -1;
    BroadcastEdge chosen;
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; has[i] && j < n; ++j) {
        if (has[j]) continue;
        int64_t ahead = -1;
        for (uint32_t k = 0; k < n; ++k) {
          if (!has[k] && k != j && (ahead < 0 || costs.Cost(j, k) < ahead)) ahead = costs.Cost(j, k);
        }
        const int64_t score = ready[i] + costs.Cost(i, j) + std::max<int64_t>(ahead, 0);
        if (best >= 0 && score >= best) continue;
        best = score;
        chosen = {i, j};
      }
    }
    const int64_t arrival = ready[chosen.from] + costs.Cost(chosen.from, chosen.to);
    ready[chosen.from] =
        accounting == Accounting::kBhat ? arrival : ready[chosen.from] + costs.Busy(chosen.from, chosen.to);
    ready[chosen.to] = arrival;
    has[chosen.to] = true;
    edges.push_back(chosen);
  }
  return edges;
}

TEST(BuildLookAheadTest, GivesTheEdgesOfItsListing) {
  ForRandomClusters(6, 400, 24, [](const BroadcastCosts& costs, uint32_t root, Prng&) {
    ASSERT_EQ(BuildBroadcast("LA", costs, root)->edges, LookAheadPlainly(costs, root, Accounting::kSound));
    ASSERT_EQ(BuildBroadcast("LA_bhat", costs, root)->edges, LookAheadPlainly(costs, root, Accounting::kBhat));
  });
}

TEST(BroadcastAlgorithmsTest, NamesAreForgiving) {
  EXPECT_EQ(AlgorithmName("MGO_jackson"), "mgo-jackson");
  EXPECT_EQ(AlgorithmName("knomial-4"), "knomial-4");
  Prng prng(7);
  const BroadcastCosts costs = RandomTreeCosts(prng, 20);
  EXPECT_EQ(BuildBroadcast("mgo-jackson", costs, 0)->edges, BuildBroadcast("MGO_jackson", costs, 0)->edges);
  EXPECT_EQ(BuildBroadcast("bt", costs, 0)->edges, BuildBroadcast("knomial-2", costs, 0)->edges);
}

TEST(BroadcastAlgorithmsTest, RefusesBadInput) {
  Prng prng(8);
  const BroadcastCosts one = RandomTreeCosts(prng, 1);
  const auto error = [&](const std::string& name, uint32_t root) { return BuildBroadcast(name, one, root).status(); };
  EXPECT_THAT(error("FT", 1), FailsWith(kInvalid, "root", "root=1", "nodes=1"));
  EXPECT_THAT(error("FTX", 0), FailsWith(kInvalid, "algorithm", "name=FTX"));
  EXPECT_THAT(error("knomial-", 0), FailsWith(kInvalid, "algorithm", "name=knomial-"));
  EXPECT_THAT(error("knomial-1", 0), FailsWith(kInvalid, "knomial", "k=1"));
  Prng again(3);
  BroadcastCosts nine = RandomTreeCosts(again, 40);
  while (nine.node_count() < 9) nine = RandomTreeCosts(again, 40);
  EXPECT_THAT(BuildBroadcast("OPTIMAL", nine, 0), FailsWith(kInvalid, "optimal", "nodes=9", "limit=8"));
}

TEST(CheckBroadcastTreeTest, RefusesWhatIsNoTree) {
  const auto error = [](const BroadcastTree& tree) { return CheckBroadcastTree(tree, 3); };
  EXPECT_EQ(error({.root = 0, .edges = {{0, 1}, {1, 2}}}), absl::OkStatus());
  EXPECT_THAT(error({.root = 3, .edges = {{0, 1}, {1, 2}}}), FailsWith(kInvalid, "tree", "root=3", "edges=2"));
  EXPECT_THAT(error({.root = 0, .edges = {{0, 1}}}), FailsWith(kInvalid, "tree", "root=0", "edges=1"));
  EXPECT_THAT(error({.root = 0, .edges = {{1, 2}, {0, 1}}}), FailsWith(kInvalid, "tree", "from=1", "to=2"));
  EXPECT_THAT(error({.root = 0, .edges = {{0, 1}, {0, 1}}}), FailsWith(kInvalid, "tree", "from=0", "to=1"));
  EXPECT_THAT(error({.root = 0, .edges = {{0, 1}, {0, 3}}}), FailsWith(kInvalid, "nodes=3"));
}

}  // namespace
}  // namespace copse::planner
