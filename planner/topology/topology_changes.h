// SPDX-License-Identifier: Apache-2.0
//
// Finds the differences between two topologies.
#ifndef COPSE_PLANNER_TOPOLOGY_TOPOLOGY_CHANGES_H_
#define COPSE_PLANNER_TOPOLOGY_TOPOLOGY_CHANGES_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "planner/topology/topology.h"

namespace copse::topology {

// A TopologyChange is one difference, which several switches or nodes may share.
struct TopologyChange {
  std::string kind;    // "added", "removed", "changed"
  std::string thing;   // "switch", "node", "costs"
  std::string names;   // host list of all switches or nodes with this change; empty for costs
  std::string key;     // the figure that changed, as "latency" or "switch"; empty if added or removed
  std::string before;  // the figure's value, or if removed all figures; empty if added
  std::string after;   // the figure's value, or if added all figures; empty if removed
  friend bool operator==(const TopologyChange&, const TopologyChange&) = default;
};

// Returns the changes of switches, then of nodes (removed, added, changed), then of costs. Switches and nodes are
// identified by name, so their order does not matter; equal changes that follow each other closely share an entry.
// Values are formatted as in a topology file. A null topology has no switches and nodes, and default costs.
// Cost: O(switches + nodes).
std::vector<TopologyChange> CompareTopologies(const Topology* before, const Topology* after);

// Returns whether a figure differs on which a plan for the nodes `names` depends: the costs, the nodes, or the switches
// and links between them. All of the nodes must be in both topologies. Cost: O(names * depth).
bool ChangesBetween(const Topology& before, const Topology& after, absl::Span<const std::string> names);

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_TOPOLOGY_CHANGES_H_
