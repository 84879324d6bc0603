// SPDX-License-Identifier: Apache-2.0
//
// Loads the cluster that is a verb's input: from a topology file, or generated from a seed.
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

// Loads the cluster that the options name; exactly one of them must be given. All errors are INVALID_ARGUMENT.
absl::StatusOr<topology::Topology> LoadCluster(const Arguments& arguments);

// A GeneratedCluster holds the parts of the option's value "NAME:P:SEED".
struct GeneratedCluster {
  std::string name;
  uint32_t nodes = 0;
  uint64_t seed = 1;
};
// Parses "NAME:P:SEED", or "NAME:P" with the default seed. Errors: INVALID_ARGUMENT for another form, or a number of
// nodes out of range.
absl::StatusOr<GeneratedCluster> ParseGenerated(std::string_view text);

// Generates "flat", all nodes on one switch, or a kind of planner/topology/generate.h. Errors: INVALID_ARGUMENT for
// another name.
absl::StatusOr<topology::Topology> Generate(const GeneratedCluster& cluster);

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_CLUSTER_SOURCE_H_
