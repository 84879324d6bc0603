// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_TOPOLOGY_TEAM_TOPOLOGY_H_
#define COPSE_PLANNER_TOPOLOGY_TEAM_TOPOLOGY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/topology/topology.h"

namespace copse::topology {

// Returns the part of a cluster that matters to one team: its nodes, in the team's order, and the switches that connect
// them, in the cluster's order. Names are replaced by numbers, so the parts of two teams are equal if their members are
// connected alike: then their plans are, too. A host is kept if several of the nodes share it.
//
// Errors: NOT_FOUND if the cluster has no such node; INVALID_ARGUMENT if there are no nodes.
// Cost:   O(nodes * depth + switches).
absl::StatusOr<Topology> TeamTopology(const Topology& cluster, absl::Span<const std::string> node_names);

// Returns the names of a team's nodes in its TeamTopology, by node.
std::vector<std::string> TeamTopologyNames(size_t nodes);

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_TEAM_TOPOLOGY_H_
