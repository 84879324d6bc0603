// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/earliest_completion_first.h"

#include <limits>
#include <tuple>
#include <vector>

namespace copse::planner {
namespace {

// NearestReceiver holds a sender and its nearest receiver. If that receiver has got the message since, `cost` is a
// lower bound for the sender's nearest receiver.
struct NearestReceiver {
  uint32_t node;
  int64_t cost = -1;  // C_ij; -1: not known yet
  uint32_t to = 0;
};

}  // namespace

BroadcastTree BuildEarliestCompletionFirst(const BroadcastCosts& costs, uint32_t root, Accounting accounting) {
  const uint32_t n = costs.node_count();
  BroadcastTree tree{.root = root};
  std::vector<int64_t> ready(n, 0);
  std::vector<bool> has(n, false);
  has[root] = true;
  std::vector<uint32_t> waiting;
  for (uint32_t v = 0; v < n; ++v) {
    if (v != root) waiting.push_back(v);
  }
  std::vector<NearestReceiver> senders = {{root}};
  while (tree.edges.size() + 1 < n) {
    NearestReceiver* best = nullptr;
    for (NearestReceiver& sender : senders) {
      const int64_t score = ready[sender.node] + sender.cost;
      if (best == nullptr ||
          std::tie(score, sender.node) < std::make_tuple(ready[best->node] + best->cost, best->node)) {
        best = &sender;
      }
    }
    // Only the best sender's nearest receiver has to be found before the choice is repeated: other bounds stay valid.
    if (best->cost < 0 || has[best->to]) {
      best->cost = std::numeric_limits<int64_t>::max();
      for (size_t at = 0; at < waiting.size();) {
        const uint32_t v = waiting[at];
        if (has[v]) {
          waiting[at] = waiting.back();
          waiting.pop_back();
          continue;
        }
        const int64_t cost = costs.Cost(best->node, v);
        if (std::tie(cost, v) < std::tie(best->cost, best->to)) {
          best->cost = cost;
          best->to = v;
        }
        ++at;
      }
      continue;
    }
    const uint32_t from = best->node, to = best->to;
    const int64_t arrival = ready[from] + best->cost;
    ready[from] = accounting == Accounting::kSound ? ready[from] + costs.Busy(from, to) : arrival;
    ready[to] = arrival;
    has[to] = true;
    tree.edges.push_back({from, to});
    senders.push_back({to});
  }
  tree.completion_ns = Completion(costs, tree.edges);
  return tree;
}

}  // namespace copse::planner
