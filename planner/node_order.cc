// SPDX-License-Identifier: Apache-2.0
#include "planner/node_order.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace copse::planner {

NodeOrder OrderByTopology(const TeamCosts& costs, uint32_t root) {
  CHECK_LT(root, costs.node_count());
  const topology::Topology& topology = costs.topology();
  const uint32_t root_switch = topology.nodes()[costs.PlaceOf(root)].parent;
  struct NodeDistance {
    bool is_other;
    uint32_t distance;  // levels from the root node's switch up to the joining switch
    uint32_t preorder;
    uint32_t node;
  };
  std::vector<NodeDistance> keys;
  keys.reserve(costs.node_count());
  for (uint32_t v = 0; v < costs.node_count(); ++v) {
    const uint32_t its_switch = topology.nodes()[costs.PlaceOf(v)].parent;
    const uint32_t common = topology.CommonSwitch(its_switch, root_switch);
    keys.push_back(
        {v != root, topology.DepthOf(root_switch) - topology.DepthOf(common), topology.PreorderOf(its_switch), v});
  }
  std::sort(keys.begin(), keys.end(), [](const NodeDistance& a, const NodeDistance& b) {
    return std::tie(a.is_other, a.distance, a.preorder, a.node) < std::tie(b.is_other, b.distance, b.preorder, b.node);
  });
  NodeOrder order;
  order.reserve(keys.size());
  for (const NodeDistance& key : keys) order.push_back(key.node);
  return order;
}

}  // namespace copse::planner
