// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/look_ahead.h"

#include <limits>
#include <tuple>
#include <vector>

namespace copse::planner {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr uint32_t kNobody = 0xffffffff;

// LookAheadRun chooses edges one by one. When nodes get the message, the minima of C_ij + A_j over the others only
// rise. So a stored minimum is a lower bound, and only the least score has to be recomputed. When one node is left, its
// A_j falls to 0, and all minima are recomputed.
class LookAheadRun {
 public:
  LookAheadRun(const BroadcastCosts& costs, uint32_t root)
      : costs_(costs), ready_(costs.node_count(), 0), has_(costs.node_count(), false), ahead_(costs.node_count()) {
    for (uint32_t v = 0; v < costs.node_count(); ++v) {
      if (v != root) waiting_.push_back(v);
    }
    has_[root] = true;
    rows_.push_back({root});
    for (const uint32_t v : waiting_) LookFrom(v);
  }

  BroadcastEdge Next() {
    for (;;) {
      Row* best = nullptr;
      for (Row& row : rows_) {
        const int64_t bound = ready_[row.node] + row.cost;
        if (best == nullptr ||
            std::tie(bound, row.node) < std::make_tuple(ready_[best->node] + best->cost, best->node)) {
          best = &row;
        }
      }
      if (best->to == kNobody || has_[best->to] || best->cost != CostThrough(best->node, best->to)) {
        Scan(best);
      } else if (ahead_[best->to].through != kNobody && has_[ahead_[best->to].through]) {
        LookFrom(best->to);
      } else {
        return {best->node, best->to};
      }
    }
  }

  void Take(const BroadcastEdge& edge, Accounting accounting) {
    const int64_t arrival = ready_[edge.from] + costs_.Cost(edge.from, edge.to);
    ready_[edge.from] =
        accounting == Accounting::kSound ? ready_[edge.from] + costs_.Busy(edge.from, edge.to) : arrival;
    ready_[edge.to] = arrival;
    has_[edge.to] = true;
    for (size_t at = 0; at < waiting_.size(); ++at) {
      if (waiting_[at] != edge.to) continue;
      waiting_[at] = waiting_.back();
      waiting_.pop_back();
      break;
    }
    rows_.push_back({edge.to});
    if (waiting_.size() == 1) {  // A_j falls to 0, so that stored minima are no lower bounds any more
      LookFrom(waiting_[0]);
      for (Row& row : rows_) row = {row.node};
    }
  }

 private:
  struct Row {
    uint32_t node;
    int64_t cost = 0;  // least C_ij + A_j over j, or a lower bound of it
    uint32_t to = kNobody;
  };
  struct Ahead {
    int64_t cost = 0;
    uint32_t through = kNobody;
  };

  int64_t CostThrough(uint32_t from, uint32_t to) const { return costs_.Cost(from, to) + ahead_[to].cost; }

  void Scan(Row* row) {
    row->cost = kNever;
    for (const uint32_t v : waiting_) {
      const int64_t cost = CostThrough(row->node, v);
      if (std::tie(cost, v) < std::tie(row->cost, row->to)) {
        row->cost = cost;
        row->to = v;
      }
    }
  }

  void LookFrom(uint32_t v) {
    ahead_[v] = {kNever, kNobody};
    for (const uint32_t k : waiting_) {
      if (k == v) continue;
      const int64_t cost = costs_.Cost(v, k);
      if (cost < ahead_[v].cost) ahead_[v] = {cost, k};
    }
    if (ahead_[v].through == kNobody) ahead_[v].cost = 0;
  }

  const BroadcastCosts& costs_;
  std::vector<int64_t> ready_;
  std::vector<bool> has_;
  std::vector<uint32_t> waiting_;
  std::vector<Row> rows_;
  std::vector<Ahead> ahead_;
};

}  // namespace

BroadcastTree BuildLookAhead(const BroadcastCosts& costs, uint32_t root, Accounting accounting) {
  BroadcastTree tree{.root = root};
  LookAheadRun search(costs, root);
  while (tree.edges.size() + 1 < costs.node_count()) {
    tree.edges.push_back(search.Next());
    search.Take(tree.edges.back(), accounting);
  }
  tree.completion_ns = Completion(costs, tree.edges);
  return tree;
}

}  // namespace copse::planner
