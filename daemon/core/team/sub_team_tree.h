// SPDX-License-Identifier: Apache-2.0
//
// Finds a node's place in the tree along which a team's daemons form its sub-teams.
#ifndef COPSE_DAEMON_CORE_TEAM_SUB_TEAM_TREE_H_
#define COPSE_DAEMON_CORE_TEAM_SUB_TEAM_TREE_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "base/ids.h"
#include "schedule/plan.h"

namespace copse::daemon {

// A TreePlace is a node's place in a tree.
struct TreePlace {
  NodeIndex root{0};
  std::optional<NodeIndex> up;  // the next node towards the root; nothing at the root
  friend bool operator==(const TreePlace&, const TreePlace&) = default;
};

// Returns the place of `self` in the breadth-first tree of the edges of all plans, whose root is the node with the most
// edges; nothing if the edges do not connect all nodes. All nodes with equal plans have the same tree, and each of its
// edges is a connection.
//
// Input:  verified plans of `node_count` nodes.
// Cost:   O(edges).
std::optional<TreePlace> PlaceInTree(absl::Span<const schedule::Plan> plans, uint32_t node_count, NodeIndex self);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_SUB_TEAM_TREE_H_
