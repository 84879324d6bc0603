// SPDX-License-Identifier: Apache-2.0
//
// The input cluster of a verb: a topology file, or one generated from a seed.
#ifndef COPSE_CLI_SIM_CLUSTER_SOURCE_H_
#define COPSE_CLI_SIM_CLUSTER_SOURCE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/sim/verb.h"
#include "planner/topology/topology.h"

namespace copse::simcli {

// Returns the options "topology" and "generate".
std::vector<Parameter> ClusterParameters();

// Loads the cluster of the options; exactly one of them must be given. Errors: INVALID_ARGUMENT for all errors.
absl::StatusOr<topology::Topology> LoadCluster(const Arguments& arguments);

// GeneratedCluster is the parsed "NAME:P:SEED".
struct GeneratedCluster {
  std::string name;
  uint32_t nodes = 0;
  uint64_t seed = 1;
};
// Parses the option; the seed may be left out. Errors: INVALID_ARGUMENT, also for no or too many nodes.
absl::StatusOr<GeneratedCluster> ParseGenerated(std::string_view text);

// Generates "flat", all nodes on one switch, or a kind of planner/topology/generate.h. Errors: INVALID_ARGUMENT for
// another name.
absl::StatusOr<topology::Topology> Generate(const GeneratedCluster& cluster);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_CLUSTER_SOURCE_H_
