// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/best_tree.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "planner/algorithms/binomial_tree.h"
#include "planner/algorithms/earliest_completion_first.h"
#include "planner/algorithms/falling_tail.h"
#include "planner/algorithms/fastest_edge_first.h"
#include "planner/algorithms/fastest_node_first.h"
#include "planner/algorithms/flat_tree.h"
#include "planner/algorithms/kary_tree.h"
#include "planner/algorithms/knomial_tree.h"
#include "planner/algorithms/look_ahead.h"
#include "planner/algorithms/tree_greedy.h"
#include "planner/algorithms/tree_search.h"

namespace copse::planner {
namespace {

constexpr uint64_t kSeed = 1;    // any will do
constexpr size_t kSearched = 4;  // starts
constexpr uint32_t kShakesInVainMax = 400;
constexpr uint32_t kRestartedNodesMax = 32;  // whose starts are shaken too
constexpr uint32_t kShakeMovesMax = 4;

// All candidates, the fastest first.
std::vector<BroadcastTree> Candidates(const BroadcastCosts& costs, uint32_t root) {
  const uint32_t n = costs.node_count();
  std::vector<BroadcastTree> trees;
  const auto add = [&](const BroadcastTree& tree) { trees.push_back(WithFallingTails(costs, tree)); };
  const auto add_by_number = [&](const absl::StatusOr<Neighbours>& neighbours) {
    CHECK(neighbours.ok());  // the order is a permutation, and the fan-outs are in range
    add(TreeOfNeighbours(costs, root, *neighbours));
  };
  if (costs.has_tree()) {
    add(BuildMgo(costs, root));
    add(BuildEarliestCompletionOnTree(costs, root));
    // Whoever sends fast should receive early, though another may be nearer.
    std::vector<int64_t> bias(n);
    for (uint32_t v = 0; v < n; ++v) bias[v] = costs.Send(v);
    add(BuildEarliestCompletionOnTree(costs, root, bias));
  }
  NodeOrder order(n);
  for (uint32_t p = 0; p < n; ++p) order[p] = (root + p) % n;
  add_by_number(BuildFlatTree(order));
  add_by_number(BuildBinomialTree(order));
  if (n <= kBestThoroughNodesMax) {
    for (const Accounting accounting : {Accounting::kSound, Accounting::kBhat}) {
      add(BuildEarliestCompletionFirst(costs, root, accounting));
      add(BuildLookAhead(costs, root, accounting));
    }
    add(BuildFastestNodeFirst(costs, root));
    add(BuildFastestEdgeFirst(costs, root, EdgeWeight::kLatency));
    add(BuildFastestEdgeFirst(costs, root, EdgeWeight::kCost));
    for (const uint32_t k : {3u, 4u, 8u, 16u}) add_by_number(BuildKnomialTree(order, k));
    for (const uint32_t k : {2u, 3u, 4u, 8u, 16u}) add_by_number(BuildKaryTree(order, k));
  }
  std::stable_sort(trees.begin(), trees.end(),
                   [](const BroadcastTree& a, const BroadcastTree& b) { return a.completion_ns < b.completion_ns; });
  return trees;
}

}  // namespace

int64_t BestSteps(uint32_t node_count) {
  return std::clamp<int64_t>(int64_t{node_count} * 40'000, 1'000'000, 20'000'000);
}

BroadcastTree BuildBest(const BroadcastCosts& given, uint32_t root, const BestOptions& options) {
  const uint32_t n = given.node_count();
  CHECK(n <= kBestThoroughNodesMax || given.has_tree());
  std::optional<BroadcastCosts> filled;
  if (!given.has_matrix() && n <= kBestThoroughNodesMax) {
    filled = given;
    filled->FillMatrix();
  }
  const BroadcastCosts& costs = filled.has_value() ? *filled : given;

  std::vector<BroadcastTree> trees = Candidates(costs, root);
  int64_t steps = options.steps < 0 ? BestSteps(n) : options.steps;
  if (steps == 0 || n < 3) return std::move(trees[0]);
  Prng prng(kSeed);
  // Each start is searched by itself, since what one cannot leave another may avoid; the winner gets what is left.
  std::optional<TreeSearch> best;
  const auto search_on = [&](TreeSearch at, uint32_t in_vain_max) {
    at.Improve(&prng, &steps);
    for (uint32_t in_vain = 0; steps > 0 && in_vain < in_vain_max; ++in_vain) {
      TreeSearch next = at;
      next.Shake(&prng, 1 + static_cast<uint32_t>(prng.Below(kShakeMovesMax)));
      next.Improve(&prng, &steps);
      if (next.Time() < at.Time()) in_vain = 0;
      if (next.Time() <= at.Time()) at = std::move(next);
    }
    if (!best.has_value() || at.Time() < best->Time()) best.emplace(std::move(at));
  };
  for (size_t i = 0; i < std::min(kSearched, trees.size()); ++i) {
    search_on(TreeSearch(&costs, trees[i]), n <= kRestartedNodesMax ? kShakesInVainMax : 0);
  }
  search_on(*best, kShakesInVainMax);
  return best->Time() < trees[0].completion_ns ? best->Take() : std::move(trees[0]);
}

}  // namespace copse::planner
