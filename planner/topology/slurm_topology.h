// SPDX-License-Identifier: Apache-2.0
//
// Slurm's description of a network: topology.conf, and what `scontrol show topology` prints, to Topology and back.
//
//   SwitchName=rack1 LinkSpeed=10 Nodes=n[1-4]
//   SwitchName=core Switches=rack[1-2]
//
// or, in topology/block, lines of BlockName and Nodes; and newer Slurms' topology.yaml:
//
//   - topology: main
//     tree: {switches: [{switch: core, children: "rack[1-2]"}, {switch: rack1, nodes: "n[1-4]"}, ...]}
//
// docs/reference/topology.md tells users what becomes of it. Source: Slurm's manual pages topology.conf(5),
// topology.yaml(5) and scontrol(1), which give the keys but to LinkSpeed no meaning.
#ifndef COPSE_PLANNER_TOPOLOGY_SLURM_TOPOLOGY_H_
#define COPSE_PLANNER_TOPOLOGY_SLURM_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/topology/topology.h"
#include "planner/topology/topology_yaml.h"

namespace copse::topology {

// Of links in a text that has no figures but LinkSpeed. Ours, and only a start: `copsectl topo probe` measures.
struct SlurmFigures {
  // What LinkSpeed=1 means; that is Slurm's default, too.
  int64_t link_speed_bytes_per_s = 125'000'000;
  // Of nodes' links; 0: what the LinkSpeed of their switch says.
  int64_t node_bandwidth_bytes_per_s = 0;
  // Of nodes' links, then of the links upwards of switches of level 0, 1 and so on; the last stands for those beyond.
  // A switch with only nodes is of level 0, others are one above the highest that they have below.
  std::vector<int64_t> latency_ns = {500, 1'000};
  int64_t overhead_ns = FlatCosts().overhead_ns;
  // If not empty: switches without a parent, when there are several, hang on a new one of this name.
  std::string root;
};

// A switch's LinkSpeed belongs to its link upwards, as all figures of Copse belong to a link's lower end. A node hangs
// on the lowest switch that names it, since `scontrol` lists at each switch all nodes below. Blocks are switches below
// one named as SlurmFigures::root, or "core".
//
// Errors:  INVALID_ARGUMENT "file:line: what: why (thing=value, limit=value)" for everything. Host lists that are too
//          long are refused before they are made.
// Cost:    O(text + names in its host lists), the names at most kSlurmListingsMax * nodes_max.
absl::StatusOr<Topology> ParseSlurmTopology(std::string_view text, std::string_view filename,
                                            const SlurmFigures& figures = {}, const ParseOptions& options = {});

// Whether a text is a topology.yaml of Slurm's: a list, which our own topology files are not.
bool IsSlurmYaml(std::string_view text);

// How often a text may name as many nodes as there may be.
inline constexpr uint32_t kSlurmListingsMax = 16;

// A topology.conf; what parses to the same tree. It has no latencies, overheads, cores and hosts, and of bandwidths
// those of switches' links, as the nearest whole multiple (at least 1) of `link_speed_bytes_per_s`. Slurm's switches
// have nodes or switches below, so where one has both, its nodes get a leaf switch of their own, "NAME-nodes"; there,
// and at a root with nodes, LinkSpeed is the fastest node's.
std::string FormatSlurmTopology(const Topology& topology, int64_t link_speed_bytes_per_s);

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_SLURM_TOPOLOGY_H_
