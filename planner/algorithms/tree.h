// SPDX-License-Identifier: Apache-2.0
//
// Defines types and checks that the algorithms share which build a plan's `neighbors` from an order of nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace copse::planner {

// NodeOrder lists the nodes of a team in the order in which an algorithm places them: order[p] is the node at position
// p, and position 0 is the root. It is a permutation of 0..n-1. Nodes that are near each other should have near
// positions (planner/node_order.h).
using NodeOrder = std::vector<uint32_t>;

// Neighbors is the `neighbors` of a schedule::Plan: by node, the parent first (the root has none), then the children
// in serving order. The plan is undirected; parent and children are those of a call whose root is order[0].
using Neighbors = std::vector<std::vector<uint32_t>>;

// Returns INVALID_ARGUMENT if `order` is empty, longer than schedule::kNodeCountMax or not a permutation. `algorithm`
// is for the message.
absl::Status CheckOrder(std::string_view algorithm, absl::Span<const uint32_t> order);

// Returns INVALID_ARGUMENT if k < 2 or k > schedule::kNodeCountMax.
absl::Status CheckFanout(std::string_view algorithm, uint32_t k);

// Adds an edge. A node must be connected to its parent before its children, so that the parent is first in its list.
void Connect(uint32_t parent, uint32_t child, Neighbors* neighbors);

// DirectFrom returns the parent of each node if `root` is the root; kNoTreeParent for the root and unreachable nodes.
inline constexpr uint32_t kNoTreeParent = 0xffffffff;
std::vector<uint32_t> DirectFrom(const Neighbors& neighbors, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREE_H_
