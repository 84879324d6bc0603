// SPDX-License-Identifier: Apache-2.0
//
// What algorithms that go by cost give: who sends to whom, in which order, and when it is over.
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

// A broadcast's edges. A node receives before it sends, and each sender sends in the order of its edges.
struct BroadcastTree {
  uint32_t root = 0;
  std::vector<BroadcastEdge> edges;
  int64_t completion_ns = 0;  // of the last arrival, the root starting at 0
  uint32_t phase1_edges = 0;  // MGO: of lines [3]-[20]
};

// Errors: INVALID_ARGUMENT unless the edges are those of a tree over n nodes, rooted at `root`, in an order in which
// everybody receives before it sends.
absl::Status CheckBroadcastTree(const BroadcastTree& tree, uint32_t node_count);

// When each node has the message: RT_s += send_s + T_sr, then RT_r = RT_s + L_sr + receive_r. `edges` of a checked
// tree. Cost: O(n), times the depth of the cluster without a matrix.
std::vector<int64_t> Arrivals(const BroadcastCosts& costs, absl::Span<const BroadcastEdge> edges);
int64_t Completion(const BroadcastCosts& costs, absl::Span<const BroadcastEdge> edges);

// The same tree used many-to-one: each edge's `to` sends to its `from`, and everybody receives from its children in
// the reverse of the order in which it would have served them. The sender is busy for send_s; L later the message's
// head is there, and the receiver, once it is free, is busy for receive_r + T. Gives when the root is done; by reversal
// of time that is Completion with costs.Mirrored(). All start at 0.
int64_t ManyToOneCompletion(const BroadcastCosts& costs, absl::Span<const BroadcastEdge> edges, uint32_t root);

// A tree from who is whose child, children in sending order; edges are breadth first.
BroadcastTree TreeOfChildren(const BroadcastCosts& costs, uint32_t root,
                             const std::vector<std::vector<uint32_t>>& children);
// From and to a plan's form (tree.h).
BroadcastTree TreeOfNeighbours(const BroadcastCosts& costs, uint32_t root, const Neighbours& neighbours);
Neighbours NeighboursOf(const BroadcastTree& tree);

// children[v] in sending order.
std::vector<std::vector<uint32_t>> ChildrenOf(const BroadcastTree& tree);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_BROADCAST_TREE_H_
