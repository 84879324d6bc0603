// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/sub_team_tree.h"

#include <vector>

namespace copse::daemon {

std::optional<TreePlace> PlaceInTree(absl::Span<const schedule::Plan> plans, uint32_t node_count, NodeIndex self) {
  TreePlace place;
  if (node_count == 1) return place;
  const std::vector<std::vector<uint32_t>> neighbors = schedule::NeighborsByNode(plans, node_count);
  for (uint32_t v = 1; v < node_count; ++v) {
    if (neighbors[v].size() > neighbors[place.root.value()].size()) place.root = NodeIndex(v);
  }
  std::vector<bool> reached(node_count);
  std::vector<uint32_t> queue = {place.root.value()};
  reached[place.root.value()] = true;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const uint32_t next : neighbors[queue[i]]) {
      if (reached[next]) continue;
      if (next == self.value()) place.up = NodeIndex(queue[i]);
      reached[next] = true;
      queue.push_back(next);
    }
  }
  return queue.size() == node_count ? std::optional(place) : std::nullopt;
}

}  // namespace copse::daemon
