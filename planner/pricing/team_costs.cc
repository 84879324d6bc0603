// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/team_costs.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::planner {

absl::StatusOr<TeamCosts> TeamCosts::Create(absl::Span<const std::string> node_names,
                                            const topology::Topology& topology, const CostParameters& parameters) {
  RETURN_IF_ERROR(CheckCostParameters(parameters));
  if (node_names.empty()) return absl::InvalidArgumentError("team: no nodes (nodes=0, least=1)");
  TeamCosts result;
  result.topology_ = &topology;
  result.parameters_ = parameters;
  result.nodes_.reserve(node_names.size());
  result.place_.reserve(node_names.size());
  absl::flat_hash_map<std::string, uint32_t> host_by_name;
  for (const std::string& name : node_names) {
    const auto place = topology.FindNode(name);
    if (!place.has_value()) {
      return absl::NotFoundError(
          absl::StrCat("node ", name, ": is not in the topology (nodes=", topology.nodes().size(), ")"));
    }
    const topology::Node& node = topology.nodes()[*place];
    NodeCosts costs;
    costs.send_overhead_ns = node.overhead_ns;
    costs.receive_overhead_ns = node.receive_overhead_ns > 0 ? node.receive_overhead_ns : node.overhead_ns;
    costs.host = result.host_count();
    if (!node.host.empty()) costs.host = host_by_name.try_emplace(node.host, costs.host).first->second;
    if (costs.host == result.host_count()) result.host_cores_.push_back(node.cores);
    result.nodes_.push_back(costs);
    result.place_.push_back(*place);
    for (uint32_t s = node.parent; s != topology::kNoParent; s = topology.switches()[s].parent) {
      const uint32_t slot = result.switch_slot_count();
      if (!result.switch_slots_.emplace(s, slot).second) break;  // all switches above this one have slots
    }
  }
  return result;
}

void TeamCosts::AppendHops(uint32_t from, uint32_t to, std::vector<sim::Hop>* hops) const {
  const std::vector<topology::Switch>& switches = topology_->switches();
  const auto add_node = [&](uint32_t v, uint32_t down) {
    const topology::Node& node = topology_->nodes()[place_[v]];
    hops->push_back({node.latency_ns, node.bandwidth_bytes_per_s, 2 * v + down});
  };
  const auto add_switch = [&](uint32_t s, uint32_t down) {
    hops->push_back(
        {switches[s].latency_ns, switches[s].bandwidth_bytes_per_s, 2 * (node_count() + SlotOfSwitch(s)) + down});
  };
  const uint32_t top = topology_->nodes()[place_[from]].parent;
  const uint32_t bottom = topology_->nodes()[place_[to]].parent;
  const uint32_t common = topology_->CommonSwitch(top, bottom);
  add_node(from, 0);
  for (uint32_t s = top; s != common; s = switches[s].parent) add_switch(s, 0);
  const auto down_begin = static_cast<ptrdiff_t>(hops->size());
  for (uint32_t s = bottom; s != common; s = switches[s].parent) add_switch(s, 1);
  std::reverse(hops->begin() + down_begin, hops->end());
  add_node(to, 1);
}

}  // namespace copse::planner
