// SPDX-License-Identifier: Apache-2.0
//
// Numbers the links of a topology, and lists the links between two nodes.
#ifndef COPSE_PLANNER_MEASURE_LINK_PATHS_H_
#define COPSE_PLANNER_MEASURE_LINK_PATHS_H_

#include <cstdint>
#include <vector>

#include "planner/measure/measurement.h"
#include "planner/topology/topology.h"

namespace copse::measure {

// LinkPaths numbers a link by its lower end: link s is above switch s, link `switches + n` above node n. The number of
// the root switch stands for no link. `*tree` must outlive this object.
class LinkPaths {
 public:
  explicit LinkPaths(const topology::Topology* tree) : tree_(tree) {}

  uint32_t link_count() const { return OfNode(static_cast<uint32_t>(tree_->nodes().size())); }
  uint32_t OfNode(uint32_t node) const { return static_cast<uint32_t>(tree_->switches().size()) + node; }

  // Sets `*links` to the links between the pair's nodes, in no particular order. Cost: O(depth).
  void Between(const NodePair& pair, std::vector<uint32_t>* links) const {
    links->clear();
    links->push_back(OfNode(pair.a));
    links->push_back(OfNode(pair.b));
    const uint32_t from = tree_->nodes()[pair.a].parent, to = tree_->nodes()[pair.b].parent;
    const uint32_t top = tree_->CommonSwitch(from, to);
    for (uint32_t s = from; s != top; s = tree_->switches()[s].parent) links->push_back(s);
    for (uint32_t s = to; s != top; s = tree_->switches()[s].parent) links->push_back(s);
  }

 private:
  const topology::Topology* tree_;
};

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_LINK_PATHS_H_
