// SPDX-License-Identifier: Apache-2.0
//
// What administrators send as a topology: a text in one of several formats, or the number of a version that is kept.
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

// By the first thing in `text` that is no comment. What looks like nothing is taken for YAML.
TopologyFormat FormatOf(std::string_view text);

struct SourcedTopology {
  std::optional<topology::Topology> topology;  // nothing: no topology was in force
  std::string source;                          // "import slurm topology.conf", "version 3", "in force"
  std::vector<std::string> notes;              // of the reader, for people
};

// Errors: INVALID_ARGUMENT: "file:line: ..." of the parsers, and "what: why (thing=value)" for the rest; NOT_FOUND: no
// such version, or no such node; FAILED_PRECONDITION: hardware of nodes, and no topology is in force.
absl::StatusOr<SourcedTopology> ReadSource(const v1::TopologySource& source, const TopologyHistory& history);

// INVALID_ARGUMENT names the figure.
absl::StatusOr<topology::SlurmFigures> ReadSlurmFigures(const v1::SlurmFigures& figures);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_TOPOLOGY_SOURCE_H_
