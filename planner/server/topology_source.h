// SPDX-License-Identifier: Apache-2.0
//
// Topologies as sent by administrators: a text in one of several formats, or the number of a stored version.
#ifndef COPSE_PLANNER_SERVER_TOPOLOGY_SOURCE_H_
#define COPSE_PLANNER_SERVER_TOPOLOGY_SOURCE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/server/topology_history.h"
#include "planner/topology/slurm_topology.h"
#include "planner/topology/topology.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::planner {

enum class TopologyFormat { kYaml, kSlurm };

// Detects the format by the first content of `text` that is no comment. Unrecognized text counts as YAML.
TopologyFormat FormatOf(std::string_view text);

struct SourcedTopology {
  std::optional<topology::Topology> topology;  // nothing: no topology was in force
  std::string source;                          // "import slurm topology.conf", "version 3", "in force"
  std::vector<std::string> notes;              // notes of the reader, for display
};

// Errors: INVALID_ARGUMENT: "file:line: ..." of the parsers, and "what: why (thing=value)" for the rest; NOT_FOUND: no
// such version, or no such node; FAILED_PRECONDITION: hardware of nodes, and no topology is in force.
absl::StatusOr<SourcedTopology> ReadSource(const v1::TopologySource& source, const TopologyHistory& history);

// Errors: INVALID_ARGUMENT names the figure.
absl::StatusOr<topology::SlurmFigures> ReadSlurmFigures(const v1::SlurmFigures& figures);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_TOPOLOGY_SOURCE_H_
