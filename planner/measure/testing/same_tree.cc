// SPDX-License-Identifier: Apache-2.0
#include "planner/measure/testing/same_tree.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace copse::measure {
namespace {

// Returns the node sets separated by links between switches: for each link, the side without the first node by name.
std::set<std::set<std::string>> Parts(const topology::Topology& tree) {
  std::vector<std::set<std::string>> below(tree.switches().size());
  std::string first = tree.nodes().front().name;
  for (const topology::Node& node : tree.nodes()) {
    first = std::min(first, node.name);
    for (uint32_t s = node.parent; s != topology::kNoParent; s = tree.switches()[s].parent) below[s].insert(node.name);
  }
  std::set<std::set<std::string>> parts;
  for (std::set<std::string>& side : below) {
    if (side.count(first) != 0) {
      std::set<std::string> other;
      for (const topology::Node& node : tree.nodes()) {
        if (side.count(node.name) == 0) other.insert(node.name);
      }
      side = std::move(other);
    }
    // A set of one node is a node's own link; a set of all nodes is no link.
    if (side.size() > 1 && side.size() + 1 < tree.nodes().size()) parts.insert(side);
  }
  return parts;
}

}  // namespace

bool SameTree(const topology::Topology& a, const topology::Topology& b) {
  std::set<std::string> names_a, names_b;
  for (const topology::Node& node : a.nodes()) names_a.insert(node.name);
  for (const topology::Node& node : b.nodes()) names_b.insert(node.name);
  return names_a == names_b && Parts(a) == Parts(b);
}

}  // namespace copse::measure
