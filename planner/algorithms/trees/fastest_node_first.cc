// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/fastest_node_first.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace copse::planner {

BroadcastTree BuildFastestNodeFirst(const BroadcastCosts& costs, uint32_t root) {
  std::vector<std::pair<int64_t, uint32_t>> by_speed;
  for (uint32_t v = 0; v < costs.node_count(); ++v) {
    if (v != root) by_speed.emplace_back(costs.Send(v) + costs.Receive(v), v);
  }
  std::sort(by_speed.begin(), by_speed.end());

  BroadcastTree tree{.root = root};
  std::vector<int64_t> ready(costs.node_count(), 0);
  std::vector<uint32_t> senders = {root};  // ascending, so that ties go to the least index
  for (const auto& [speed, to] : by_speed) {
    uint32_t best = root;
    int64_t best_arrival = -1;
    for (const uint32_t from : senders) {
      const int64_t arrival = ready[from] + costs.Cost(from, to);
      if (best_arrival < 0 || arrival < best_arrival) {
        best = from;
        best_arrival = arrival;
      }
    }
    tree.edges.push_back({best, to});
    ready[best] += costs.Busy(best, to);
    ready[to] = best_arrival;
    tree.completion_ns = std::max(tree.completion_ns, best_arrival);
    senders.insert(std::lower_bound(senders.begin(), senders.end(), to), to);
  }
  return tree;
}

}  // namespace copse::planner
