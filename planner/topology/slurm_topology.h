// SPDX-License-Identifier: Apache-2.0
//
// Converts Slurm's descriptions of a network to Topology and back: topology.conf, and the output of `scontrol show
// topology`:
//
//   SwitchName=rack1 LinkSpeed=10 Nodes=n[1-4]
//   SwitchName=core Switches=rack[1-2]
//
// or, in topology/block, lines with BlockName and Nodes; and topology.yaml of newer versions of Slurm:
//
//   - topology: main
//     tree: {switches: [{switch: core, children: "rack[1-2]"}, {switch: rack1, nodes: "n[1-4]"}, ...]}
//
// docs/reference/topology.md describes the conversion for users. Source: Slurm's manual pages topology.conf(5),
// topology.yaml(5) and scontrol(1), which give no key but LinkSpeed a meaning.
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

// SlurmFigures are the figures of nodes and links that Slurm's text does not have: it has only LinkSpeed. The defaults
// are a first guess; `copsectl topo probe` measures.
struct SlurmFigures {
  // LinkSpeed=1 stands for this bandwidth.
  int64_t link_speed_bytes_per_s = 125'000'000;
  // Nodes' links have this bandwidth. 0: the LinkSpeed of their switch.
  int64_t node_bandwidth_bytes_per_s = 0;
  // It has the latency of nodes' links, then of the uplinks of switches of level 0, 1 and so on; the last applies to
  // higher levels. A switch with only nodes has level 0, others are one above the highest switch below them.
  std::vector<int64_t> latency_ns = {500, 1'000};
  int64_t overhead_ns = FlatCosts().overhead_ns;
  // It names a new root above the switches without a parent, if there are several. Empty: that is an error.
  std::string root;
};

// Parses the text. A switch's LinkSpeed is that of the link to its parent, since a topology has a link's figures at the
// lower end. A node is on the lowest switch that names it, since `scontrol` lists all nodes below a switch. Blocks are
// switches below a root named SlurmFigures::root, or "core".
//
// Errors:  INVALID_ARGUMENT "file:line: what: why (thing=value, limit=value)" for all errors. Host lists that are too
//          long are refused before they are expanded.
// Cost:    O(text + names in host lists), of which at most kSlurmListingsMax * nodes_max are accepted.
absl::StatusOr<Topology> ParseSlurmTopology(std::string_view text, std::string_view filename,
                                            const SlurmFigures& figures = {}, const ParseOptions& options = {});

// Returns whether a text is a topology.yaml of Slurm: a list, which a topology file of Copse is not.
bool IsSlurmYaml(std::string_view text);

// Limits the node names in all host lists of a text, as a multiple of the limit of nodes.
inline constexpr uint32_t kSlurmListingsMax = 16;

// Writes a topology.conf with the topology's tree. It has no latencies, overheads, cores and hosts, and only the
// bandwidths of switches' links, as the nearest whole multiple (at least 1) of `link_speed_bytes_per_s`, which must be
// positive. A switch of Slurm has either nodes or switches below; where one has both, its nodes are moved to an added
// leaf switch, "NAME-nodes". There, and at a root with nodes, LinkSpeed is the fastest node's.
std::string FormatSlurmTopology(const Topology& topology, int64_t link_speed_bytes_per_s);

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_SLURM_TOPOLOGY_H_
