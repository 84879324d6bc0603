// SPDX-License-Identifier: Apache-2.0
//
// Defines the result of algorithms that decide by cost, edges in sending order, and computes completion times.
#ifndef COPSE_PLANNER_ALGORITHMS_BROADCAST_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_BROADCAST_TREE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/tree.h"

namespace copse::planner {

struct BroadcastEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  friend bool operator==(const BroadcastEdge&, const BroadcastEdge&) = default;
};

// BroadcastTree lists a broadcast's edges. A node receives before it sends, and each sender sends in the order of its
// edges.
struct BroadcastTree {
  uint32_t root = 0;
  std::vector<BroadcastEdge> edges;
  int64_t completion_ns = 0;  // time of the last arrival if the root starts at 0
  uint32_t phase1_edges = 0;  // MGO: number of edges from lines [3]-[20] of the paper
};

// Returns INVALID_ARGUMENT unless the edges form a tree over `node_count` nodes with the root tree.root, in an order in
// which every node receives before it sends.
absl::Status CheckBroadcastTree(const BroadcastTree& tree, uint32_t node_count);

// Arrivals returns the times at which each node has the message: RT_s += send_s + T_sr, then RT_r = RT_s + L_sr +
// receive_r. Completion returns the latest of them. `edges` must be those of a checked tree. Cost: O(n), times the
// depth of the cluster without a matrix.
std::vector<int64_t> Arrivals(const BroadcastCosts& costs, absl::Span<const BroadcastEdge> edges);
int64_t Completion(const BroadcastCosts& costs, absl::Span<const BroadcastEdge> edges);

// Returns the time at which the root has received everything if the tree is used many-to-one: each edge's `to` sends to
// its `from`, and every node receives from its children in the reverse of their serving order. The sender is busy for
// send_s; L later the message's head arrives, and the receiver, when it is free, is busy for receive_r + T. All nodes
// start at 0. By reversal of time this equals Completion with costs.Mirrored().
int64_t ManyToOneCompletion(const BroadcastCosts& costs, absl::Span<const BroadcastEdge> edges, uint32_t root);

// Builds a tree from each node's children in sending order. The tree's edges are in breadth-first order.
BroadcastTree TreeOfChildren(const BroadcastCosts& costs, uint32_t root,
                             const std::vector<std::vector<uint32_t>>& children);
// Convert from and to the form that a plan has (tree.h). TreeOfNeighbors gives edges in breadth-first order.
BroadcastTree TreeOfNeighbors(const BroadcastCosts& costs, uint32_t root, const Neighbors& neighbors);
Neighbors NeighborsOf(const BroadcastTree& tree);

// Returns children[v] in sending order.
std::vector<std::vector<uint32_t>> ChildrenOf(const BroadcastTree& tree);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_BROADCAST_TREE_H_
