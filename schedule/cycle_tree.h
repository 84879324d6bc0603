// SPDX-License-Identifier: Apache-2.0
//
// Computes the tree that carries an owner's data along a cycle, towards the owner or away from it.
#ifndef COPSE_SCHEDULE_CYCLE_TREE_H_
#define COPSE_SCHEDULE_CYCLE_TREE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace copse::schedule {

// A CycleTree is one node's place in the owner's tree: the distances to its parent and children along the cycle.
struct CycleTree {
  uint32_t parent = 0;             // towards the owner; 0: the node is the owner
  std::vector<uint32_t> children;  // away from the owner, ascending
};

// Returns the place of the node `distance` steps away from the owner in the tree that a circulant plan's `distances`
// span around each owner, over `n` nodes. {1} gives the chain round the cycle, {1, 2, 4, ...} the binomial tree: the
// parent's distance is the node's without its lowest set bit. Every node has every place in one of the n owners' trees,
// so all links carry the same load if all nodes are owners in turn. Precondition: distance < n.
inline CycleTree CycleTreeAt(absl::Span<const uint32_t> distances, uint32_t n, uint32_t distance) {
  CycleTree tree;
  const bool chain = distances.size() <= 1;
  if (distance > 0) tree.parent = chain ? 1 : distance & (~distance + 1);
  for (const uint32_t step : distances) {
    if (distance + step < n && (chain || distance == 0 || step < tree.parent)) tree.children.push_back(step);
  }
  return tree;
}

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_CYCLE_TREE_H_
