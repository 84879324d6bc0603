// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster_source.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "cli/sim/options.h"
#include "planner/topology/generate.h"
#include "planner/topology/topology_yaml.h"

namespace copse::simcli {

std::vector<Parameter> ClusterParameters() {
  return {{"topology", "FILE", "the cluster: a topology file"},
          {"generate", "NAME:P:SEED", "the cluster: P nodes made up from a seed; NAME is flat, mgo, racks or wan"}};
}

absl::StatusOr<GeneratedCluster> ParseGenerated(std::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(AbslView(text), ':');
  GeneratedCluster cluster;
  if (parts.size() < 2 || parts.size() > 3 || !absl::SimpleAtoi(parts[1], &cluster.nodes) ||
      (parts.size() == 3 && !absl::SimpleAtoi(parts[2], &cluster.seed))) {
    return absl::InvalidArgumentError(absl::StrCat("generate: not NAME:P:SEED (value=", AbslView(text), ")"));
  }
  cluster.name = parts[0];
  if (cluster.nodes == 0 || cluster.nodes > topology::kNodeCountMax) {
    return absl::InvalidArgumentError(absl::StrCat("generate: number of nodes out of range (nodes=", cluster.nodes,
                                                   ", limit=", topology::kNodeCountMax, ")"));
  }
  return cluster;
}

absl::StatusOr<topology::Topology> Generate(const GeneratedCluster& cluster) {
  if (cluster.name == "flat") {
    std::vector<std::string> names;
    names.reserve(cluster.nodes);
    for (uint32_t v = 0; v < cluster.nodes; ++v) names.push_back(absl::StrCat("n", v));
    return topology::FlatTopology(names);
  }
  const std::vector<std::string> kinds = topology::GeneratedKinds();
  if (std::find(kinds.begin(), kinds.end(), cluster.name) == kinds.end()) {
    return absl::InvalidArgumentError(absl::StrCat("generate: no such kind of cluster (name=", cluster.name,
                                                   ", known=flat ", absl::StrJoin(kinds, " "), ")"));
  }
  return topology::GenerateTopology(cluster.name, cluster.nodes, cluster.seed);
}

absl::StatusOr<topology::Topology> LoadCluster(const Arguments& arguments) {
  if (arguments.Has("topology") == arguments.Has("generate")) {
    return absl::InvalidArgumentError("usage: one of --topology and --generate is needed; try --help");
  }
  if (arguments.Has("generate")) {
    ASSIGN_OR_RETURN(const GeneratedCluster cluster, ParseGenerated(arguments.Text("generate")));
    return Generate(cluster);
  }
  const std::string file = arguments.Text("topology");
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file, topology::kTopologyBytesMax));
  return topology::ParseTopologyYaml(text, file);
}

}  // namespace copse::simcli
