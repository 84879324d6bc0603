// SPDX-License-Identifier: Apache-2.0
#include "planner/topology/team_topology.h"

#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace copse::topology {

absl::StatusOr<Topology> TeamTopology(const Topology& cluster, absl::Span<const std::string> node_names) {
  if (node_names.empty()) return absl::InvalidArgumentError("team: no nodes (nodes=0, least=1)");
  std::vector<Node> nodes;
  std::map<std::string, uint32_t> nodes_of_host;
  for (const std::string& name : node_names) {
    const auto place = cluster.FindNode(name);
    if (!place.has_value()) {
      return absl::NotFoundError(
          absl::StrCat("node ", name, ": is not in the topology (nodes=", cluster.nodes().size(), ")"));
    }
    nodes.push_back(cluster.nodes()[*place]);
    ++nodes_of_host[nodes.back().host];
  }
  uint32_t top = nodes[0].parent;
  for (const Node& node : nodes) top = cluster.CommonSwitch(top, node.parent);
  std::map<uint32_t, uint32_t> switch_numbers = {{top, 0}};  // the number of a switch, by its index in the cluster
  for (const Node& node : nodes) {
    for (uint32_t s = node.parent; switch_numbers.try_emplace(s, 0).second;) s = cluster.switches()[s].parent;
  }
  std::vector<Switch> switches;
  for (auto& [index, number] : switch_numbers) {
    number = static_cast<uint32_t>(switches.size());
    switches.push_back(cluster.switches()[index]);
  }
  for (auto& [index, number] : switch_numbers) {
    Switch& s = switches[number];
    s = index == top ? Switch{} : Switch{"", switch_numbers.at(s.parent), s.latency_ns, s.bandwidth_bytes_per_s};
    s.name = absl::StrCat("s", number);
  }
  std::map<std::string, std::string> host_numbers;
  const std::vector<std::string> names = TeamTopologyNames(nodes.size());
  for (size_t v = 0; v < nodes.size(); ++v) {
    Node& node = nodes[v];
    node.name = names[v];
    node.parent = switch_numbers.at(node.parent);
    if (nodes_of_host[node.host] == 1) node.host.clear();
    if (node.host.empty()) continue;
    node.host = host_numbers.try_emplace(node.host, absl::StrCat("h", host_numbers.size())).first->second;
  }
  return Topology::Create(std::move(switches), std::move(nodes), cluster.costs());
}

std::vector<std::string> TeamTopologyNames(size_t nodes) {
  std::vector<std::string> names;
  for (size_t v = 0; v < nodes; ++v) names.push_back(absl::StrCat("n", v));
  return names;
}

}  // namespace copse::topology
