// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/fastest_edge_first.h"

#include <limits>
#include <tuple>
#include <vector>

namespace copse::planner {

BroadcastTree BuildFastestEdgeFirst(const BroadcastCosts& costs, uint32_t root, EdgeWeight weight) {
  const uint32_t n = costs.node_count();
  BroadcastTree tree{.root = root};
  // lightest[v] is the weight of the lightest edge so far to node v, which does not have the message.
  std::vector<int64_t> lightest(n, std::numeric_limits<int64_t>::max());
  std::vector<uint32_t> from(n, root), waiting;
  for (uint32_t v = 0; v < n; ++v) {
    if (v != root) waiting.push_back(v);
  }
  for (uint32_t newest = root; !waiting.empty();) {
    size_t best = 0;
    for (size_t at = 0; at < waiting.size(); ++at) {
      const uint32_t v = waiting[at];
      const int64_t w = weight == EdgeWeight::kLatency ? costs.Latency(newest, v) : costs.Cost(newest, v);
      if (std::tie(w, newest) < std::tie(lightest[v], from[v])) {
        lightest[v] = w;
        from[v] = newest;
      }
      const uint32_t b = waiting[best];
      if (std::tie(lightest[v], from[v], v) < std::tie(lightest[b], from[b], b)) best = at;
    }
    newest = waiting[best];
    tree.edges.push_back({from[newest], newest});
    waiting[best] = waiting.back();
    waiting.pop_back();
  }
  tree.completion_ns = Completion(costs, tree.edges);
  return tree;
}

}  // namespace copse::planner
