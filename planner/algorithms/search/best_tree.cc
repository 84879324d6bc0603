// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/best_tree.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/prng.h"
#include "planner/algorithms/search/falling_tail.h"
#include "planner/algorithms/search/tree_greedy.h"
#include "planner/algorithms/search/tree_search.h"
#include "planner/algorithms/trees/earliest_completion_first.h"
#include "planner/algorithms/trees/fastest_edge_first.h"
#include "planner/algorithms/trees/fastest_node_first.h"
#include "planner/algorithms/trees/kary_tree.h"
#include "planner/algorithms/trees/knomial_tree.h"
#include "planner/algorithms/trees/look_ahead.h"

namespace copse::planner {
namespace {

constexpr uint64_t kSeed = 1;  // any value works
constexpr uint32_t kUrgentRounds = 2;
constexpr uint32_t kShakesInVainMax = 400;
constexpr size_t kStarts = 4;
constexpr uint32_t kRestartedNodesMax = 32;  // larger clusters use the budget better with one start
constexpr uint32_t kShakeMovesMax = 4;

// Adds trees between those of earliest completion, which ignores that a whole rack waits for one message, and of MGO,
// which first sends one message to every rack, at a high cost where messages between racks take long. The urgency of a
// rack is the time that the fastest tree so far needs to serve it, times a factor.
void AddUrgent(const BroadcastCosts& costs, uint32_t root, const std::vector<int64_t>& bias,
               std::vector<BroadcastTree>* trees) {
  for (uint32_t round = 0; round < kUrgentRounds; ++round) {
    const auto best = std::min_element(
        trees->begin(), trees->end(),
        [](const BroadcastTree& a, const BroadcastTree& b) { return a.completion_ns < b.completion_ns; });
    const std::vector<int64_t> urgency = UrgencyOf(costs, *best);
    for (const int64_t eighths : {2, 4, 6, 8, 12}) {
      std::vector<int64_t> part(urgency);
      for (int64_t& ns : part) ns = ns / 8 * eighths;
      trees->push_back(WithFallingTails(costs, BuildEarliestCompletionOnTree(costs, root, bias, part)));
      trees->push_back(WithFallingTails(costs, BuildEarliestCompletionOnTree(costs, root, {}, part)));
    }
  }
}

// Returns all candidates, the fastest first.
std::vector<BroadcastTree> Candidates(const BroadcastCosts& costs, uint32_t root) {
  const uint32_t n = costs.node_count();
  std::vector<BroadcastTree> trees;
  const auto add = [&](const BroadcastTree& tree) { trees.push_back(WithFallingTails(costs, tree)); };
  const auto add_by_number = [&](const absl::StatusOr<Neighbors>& neighbors) {
    CHECK(neighbors.ok());  // the order is a permutation, and all k are in range
    add(TreeOfNeighbors(costs, root, *neighbors));
  };
  add(BuildMgo(costs, root));
  add(BuildEarliestCompletionOnTree(costs, root));
  // The bias lets a node that sends fast receive early, even if another one is nearer.
  std::vector<int64_t> bias(n);
  for (uint32_t v = 0; v < n; ++v) bias[v] = costs.Send(v);
  add(BuildEarliestCompletionOnTree(costs, root, bias));
  if (n <= kBestThoroughNodesMax) AddUrgent(costs, root, bias, &trees);
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
  return std::clamp<int64_t>(int64_t{node_count} * 60'000, 1'000'000, 30'000'000);
}

BroadcastTree BuildBest(const BroadcastCosts& given, uint32_t root, const BestOptions& options) {
  const uint32_t n = given.node_count();
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
  // For few nodes, each start is searched on its own: one start may avoid a local minimum that another cannot leave.
  std::optional<TreeSearch> best;
  const size_t starts = n <= kRestartedNodesMax ? kStarts : 1;
  for (size_t i = 0; i < std::min(starts, trees.size()); ++i) {
    TreeSearch at(&costs, trees[i]);
    at.Improve(&prng, &steps);
    TreeSearch next = at;
    for (uint32_t in_vain = 0; steps > 0 && in_vain < kShakesInVainMax; ++in_vain) {
      next = at;  // reuses the memory of `next`
      next.Shake(&prng, 1 + static_cast<uint32_t>(prng.Below(kShakeMovesMax)));
      next.Improve(&prng, &steps);
      if (next.Time() < at.Time()) in_vain = 0;
      if (next.Time() <= at.Time()) std::swap(at, next);
    }
    if (!best.has_value() || at.Time() < best->Time()) best.emplace(std::move(at));
  }
  return best->Time() < trees[0].completion_ns ? best->Take() : std::move(trees[0]);
}

}  // namespace copse::planner
