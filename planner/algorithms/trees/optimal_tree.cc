// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/optimal_tree.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/algorithms/search/falling_tail.h"

namespace copse::planner {
namespace {

using Parents = std::array<uint32_t, kOptimalNodesMax>;

// Table holds the costs in small arrays, and computes the time of a tree.
class Table {
 public:
  Table(const BroadcastCosts& costs, uint32_t root) : n_(costs.node_count()), root_(root) {
    for (uint32_t i = 0; i < n_; ++i) {
      for (uint32_t j = 0; j < n_; ++j) {
        busy_[i][j] = i == j ? 0 : costs.Busy(i, j);
        travel_[i][j] = i == j ? 0 : costs.Travel(i, j);
      }
    }
  }

  // Returns the completion time in ns with children by falling tail. `parent` has all nodes but the root; `order` has
  // all nodes, children before their parents.
  int64_t TimeOf(const Parents& parent, const Parents& order) const {
    struct Subtree {
      int64_t tail, busy;
    };
    std::array<std::array<Subtree, kOptimalNodesMax>, kOptimalNodesMax> children;
    std::array<uint32_t, kOptimalNodesMax> count{};
    for (uint32_t i = 0; i < n_; ++i) {
      const uint32_t v = order[i];
      int64_t busy = 0, time = 0;
      for (uint32_t c = 0; c < count[v]; ++c) {
        busy += children[v][c].busy;
        time = std::max(time, busy + children[v][c].tail);
      }
      if (v == root_) return time;
      const uint32_t p = parent[v];
      const Subtree child{travel_[p][v] + time, busy_[p][v]};
      uint32_t at = count[p]++;
      for (; at > 0 && children[p][at - 1].tail < child.tail; --at) children[p][at] = children[p][at - 1];
      children[p][at] = child;
    }
    return 0;
  }

 private:
  const uint32_t n_, root_;
  int64_t busy_[kOptimalNodesMax][kOptimalNodesMax], travel_[kOptimalNodesMax][kOptimalNodesMax];
};

// Decodes the tree of a Pruefer sequence of n - 2 labels: each node's parent, and an order of nodes for Table::TimeOf,
// in which the root is last.
void Decode(const Parents& sequence, uint32_t n, uint32_t root, Parents* parent, Parents* order) {
  // The root takes the greatest label, which the decoding never removes as a leaf.
  const auto label = [&](uint32_t v) { return v == n - 1 ? root : v == root ? n - 1 : v; };
  Parents degree;
  degree.fill(1);
  for (uint32_t i = 0; i + 2 < n; ++i) ++degree[sequence[i]];
  for (uint32_t i = 0; i + 1 < n; ++i) {
    uint32_t leaf = 0;
    while (degree[leaf] != 1) ++leaf;
    const uint32_t to = i + 2 < n ? sequence[i] : n - 1;
    (*parent)[label(leaf)] = label(to);
    (*order)[i] = label(leaf);
    degree[leaf] = 0;
    --degree[to];
  }
  (*order)[n - 1] = root;
}

}  // namespace

absl::StatusOr<BroadcastTree> BuildOptimal(const BroadcastCosts& costs, uint32_t root) {
  const uint32_t n = costs.node_count();
  if (n > kOptimalNodesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimal: too many nodes to try all trees (nodes=", n, ", limit=", kOptimalNodesMax, ")"));
  }
  std::vector<std::vector<uint32_t>> children(n);
  if (n == 1) return TreeOfChildren(costs, root, children);
  const Table table(costs, root);
  Parents sequence{}, parent{}, order{}, best_parent{};
  int64_t best = std::numeric_limits<int64_t>::max();
  for (bool more = true; more;) {
    Decode(sequence, n, root, &parent, &order);
    const int64_t time = table.TimeOf(parent, order);
    if (time < best) {
      best = time;
      best_parent = parent;
    }
    uint32_t at = n - 2;
    while (at > 0 && ++sequence[at - 1] == n) sequence[--at] = 0;
    more = at > 0;
  }
  for (uint32_t v = 0; v < n; ++v) {
    if (v != root) children[best_parent[v]].push_back(v);
  }
  return WithFallingTails(costs, TreeOfChildren(costs, root, children));
}

}  // namespace copse::planner
