// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/broadcast_tree.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace copse::planner {

absl::Status CheckBroadcastTree(const BroadcastTree& tree, uint32_t node_count) {
  if (tree.root >= node_count || tree.edges.size() + 1 != node_count) {
    return absl::InvalidArgumentError(absl::StrCat("tree: not one edge to each node but the root (root=", tree.root,
                                                   ", edges=", tree.edges.size(), ", nodes=", node_count, ")"));
  }
  std::vector<bool> has(node_count, false);
  has[tree.root] = true;
  for (const BroadcastEdge& edge : tree.edges) {
    if (edge.from >= node_count || edge.to >= node_count || !has[edge.from] || has[edge.to]) {
      return absl::InvalidArgumentError(absl::StrCat("tree: a node sends before it receives, or receives twice (from=",
                                                     edge.from, ", to=", edge.to, ", nodes=", node_count, ")"));
    }
    has[edge.to] = true;
  }
  return absl::OkStatus();
}

std::vector<int64_t> Arrivals(const BroadcastCosts& costs, absl::Span<const BroadcastEdge> edges) {
  std::vector<int64_t> arrival(costs.node_count(), 0), ready(costs.node_count(), 0);
  for (const BroadcastEdge& edge : edges) {
    const BroadcastCosts::Pair pair = costs.Between(edge.from, edge.to);
    ready[edge.from] += costs.Send(edge.from) + pair.stream_ns;
    ready[edge.to] = arrival[edge.to] = ready[edge.from] + pair.latency_ns + costs.Receive(edge.to);
  }
  return arrival;
}

int64_t Completion(const BroadcastCosts& costs, absl::Span<const BroadcastEdge> edges) {
  const std::vector<int64_t> arrival = Arrivals(costs, edges);
  return *std::max_element(arrival.begin(), arrival.end());
}

int64_t ManyToOneCompletion(const BroadcastCosts& costs, absl::Span<const BroadcastEdge> edges, uint32_t root) {
  // From the last edge back, a sender has received from all of its own children before it sends.
  std::vector<int64_t> ready(costs.node_count(), 0);
  for (size_t i = edges.size(); i-- > 0;) {
    const auto [receiver, sender] = edges[i];
    const BroadcastCosts::Pair pair = costs.Between(sender, receiver);
    const int64_t head = ready[sender] + costs.Send(sender) + pair.latency_ns;
    ready[receiver] = std::max(ready[receiver], head) + costs.Receive(receiver) + pair.stream_ns;
  }
  return ready[root];
}

BroadcastTree TreeOfChildren(const BroadcastCosts& costs, uint32_t root,
                             const std::vector<std::vector<uint32_t>>& children) {
  BroadcastTree tree;
  tree.root = root;
  tree.edges.reserve(costs.node_count() - 1);
  for (const uint32_t child : children[root]) tree.edges.push_back({root, child});
  for (size_t i = 0; i < tree.edges.size(); ++i) {
    const uint32_t from = tree.edges[i].to;
    for (const uint32_t child : children[from]) tree.edges.push_back({from, child});
  }
  tree.completion_ns = Completion(costs, tree.edges);
  return tree;
}

BroadcastTree TreeOfNeighbors(const BroadcastCosts& costs, uint32_t root, const Neighbors& neighbors) {
  const std::vector<uint32_t> parent = DirectFrom(neighbors, root);
  std::vector<std::vector<uint32_t>> children(neighbors.size());
  for (uint32_t v = 0; v < neighbors.size(); ++v) {
    for (const uint32_t other : neighbors[v]) {
      if (other != parent[v]) children[v].push_back(other);
    }
  }
  return TreeOfChildren(costs, root, children);
}

Neighbors NeighborsOf(const BroadcastTree& tree) {
  Neighbors neighbors(tree.edges.size() + 1);
  for (const BroadcastEdge& edge : tree.edges) Connect(edge.from, edge.to, &neighbors);
  return neighbors;
}

std::vector<std::vector<uint32_t>> ChildrenOf(const BroadcastTree& tree) {
  std::vector<std::vector<uint32_t>> children(tree.edges.size() + 1);
  for (const BroadcastEdge& edge : tree.edges) children[edge.from].push_back(edge.to);
  return children;
}

}  // namespace copse::planner
