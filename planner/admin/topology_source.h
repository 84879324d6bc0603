// SPDX-License-Identifier: Apache-2.0
//
// Reads topologies as administrators send them: a text in one of several formats, or the number of a stored version.
#ifndef COPSE_PLANNER_ADMIN_TOPOLOGY_SOURCE_H_
#define COPSE_PLANNER_ADMIN_TOPOLOGY_SOURCE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/admin/topology_history.h"
#include "planner/topology/slurm_topology.h"
#include "planner/topology/topology.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::planner {

enum class TopologyFormat { kYaml, kSlurm };

// Detects the format by the first content of `text` that is no comment. Text that is not recognized counts as YAML.
TopologyFormat FormatOf(std::string_view text);

struct SourcedTopology {
  std::optional<topology::Topology> topology;  // nullopt: the version, or what is in force, has no topology
  std::string source;                          // "import slurm topology.conf", "version 3", "in force"
  std::vector<std::string> notes;              // notes of the reader, for display
};

// Returns the topology that a request names: a version, a file's text, the topology in force with the cores of some
// nodes replaced (hardware), or without any of these the topology in force.
// Errors: INVALID_ARGUMENT, "file:line: ..." from the parsers and "what: why (thing=value)" otherwise; NOT_FOUND for an
//         unknown version or node; FAILED_PRECONDITION for hardware if no topology is in force, and for a version that
//         cannot be read.
absl::StatusOr<SourcedTopology> ReadSource(const v1::TopologySource& source, const TopologyHistory& history);

// Converts figures of a request; empty ones keep their defaults. Errors: INVALID_ARGUMENT, which names the figure.
absl::StatusOr<topology::SlurmFigures> ReadSlurmFigures(const v1::SlurmFigures& figures);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_TOPOLOGY_SOURCE_H_
