// SPDX-License-Identifier: Apache-2.0
//
// What is different between two topologies.
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
  std::string names;  // a host list: all that the rest is true of; empty for costs
  // Of what was added or removed: its figures, in `after` or `before`. Of what changed: which of them.
  std::string key;  // "latency", "bandwidth", "switch"
  std::string before;
  std::string after;
  friend bool operator==(const TopologyChange&, const TopologyChange&) = default;
};

// Switches, then nodes, then costs; removed, added, changed. Things are known by their names, so their order does not
// matter; neighbours of one fate share an entry. Values as a topology file has them. Null: there is nothing.
// Cost: O(switches + nodes).
std::vector<TopologyChange> CompareTopologies(const Topology* before, const Topology* after);

// Whether anything between the nodes `names` differs, themselves included: what a plan for them depends on. All of them
// are in both topologies. Cost: O(names * depth).
bool ChangesBetween(const Topology& before, const Topology& after, absl::Span<const std::string> names);

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_TOPOLOGY_CHANGES_H_
