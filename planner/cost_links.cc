// SPDX-License-Identifier: Apache-2.0
#include "planner/cost_links.h"

#include <algorithm>
#include <cstddef>

namespace copse::planner {

CostLinks::CostLinks(const TeamCosts* costs)
    : costs_(*costs), free_ns_(2 * (costs->node_count() + costs->switch_slot_count()), 0) {}

CostLinks::Places CostLinks::FindPath(uint32_t from, uint32_t to) {
  const topology::Topology& topology = costs_.topology();
  const auto add_node = [&](uint32_t v, uint32_t down) {
    const topology::Node& node = topology.nodes()[costs_.PlaceOf(v)];
    links_.push_back({node.latency_ns, node.bandwidth_bytes_per_s, 2 * v + down});
  };
  const auto add_switch = [&](uint32_t s, uint32_t down) {
    const topology::Switch& item = topology.switches()[s];
    links_.push_back(
        {item.latency_ns, item.bandwidth_bytes_per_s, 2 * (costs_.node_count() + costs_.SlotOfSwitch(s)) + down});
  };
  const auto begin = static_cast<uint32_t>(links_.size());
  const uint32_t top = topology.nodes()[costs_.PlaceOf(from)].parent;
  const uint32_t bottom = topology.nodes()[costs_.PlaceOf(to)].parent;
  const uint32_t common = topology.CommonSwitch(top, bottom);
  add_node(from, 0);
  for (uint32_t s = top; s != common; s = topology.switches()[s].parent) add_switch(s, 0);
  const size_t down_begin = links_.size();
  for (uint32_t s = bottom; s != common; s = topology.switches()[s].parent) add_switch(s, 1);
  std::reverse(links_.begin() + static_cast<ptrdiff_t>(down_begin), links_.end());
  add_node(to, 1);
  return {begin, static_cast<uint32_t>(links_.size())};
}

int64_t CostLinks::Pass(uint32_t place, uint64_t bytes, int64_t time_ns) {
  const Link& link = links_[place];
  int64_t& free_ns = free_ns_[link.busy];
  const int64_t start_ns = std::max(time_ns, free_ns);
  free_ns = start_ns + StreamNs(bytes, link.bandwidth);
  return start_ns + link.latency_ns;
}

}  // namespace copse::planner
