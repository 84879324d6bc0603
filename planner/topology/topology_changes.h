// SPDX-License-Identifier: Apache-2.0
//
// The differences between two topologies.
#ifndef COPSE_PLANNER_TOPOLOGY_TOPOLOGY_CHANGES_H_
#define COPSE_PLANNER_TOPOLOGY_TOPOLOGY_CHANGES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "planner/topology/topology.h"

namespace copse::topology {

struct TopologyChange {
  std::string kind;   // "added", "removed", "changed"
  std::string thing;  // "switch", "node", "costs"
  std::string names;  // a host list of all things with this change; empty for costs
  // Added or removed: a figure of the thing, in `after` or `before`. Changed: the figure that changed.
  std::string key;  // "latency", "bandwidth", "switch"
  std::string before;
  std::string after;
  friend bool operator==(const TopologyChange&, const TopologyChange&) = default;
};

// Lists switches, then nodes, then costs; removed, added, changed. Things are identified by name, so their order does
// not matter; consecutive things with equal changes share an entry. Values are formatted as in a topology file. Null
// means an empty side.
// Cost: O(switches + nodes).
std::vector<TopologyChange> CompareTopologies(const Topology* before, const Topology* after);

// Returns whether anything that a plan for the nodes `names` depends on differs: the nodes themselves, and all between
// them. All of them must be in both topologies. Cost: O(names * depth).
bool ChangesBetween(const Topology& before, const Topology& after, absl::Span<const std::string> names);

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_TOPOLOGY_CHANGES_H_
