// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/message_costs.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace copse::planner {
namespace {

// Returns a tree whose vertices are the team's nodes, then the switches above them by slot.
CostTree TreeOf(const TeamCosts& costs) {
  const topology::Topology& topology = costs.topology();
  const uint32_t n = costs.node_count();
  const size_t vertices = size_t{n} + costs.switch_slot_count();
  CostTree tree;
  tree.parent.assign(vertices, topology::kNoParent);
  tree.latency_ns.assign(vertices, 0);
  tree.bandwidth_bytes_per_s.assign(vertices, topology::kBandwidthBytesPerSecondMax);
  std::vector<bool> seen(vertices, false);
  for (uint32_t v = 0; v < n; ++v) {
    const topology::Node& node = topology.nodes()[costs.PlaceOf(v)];
    uint32_t slot = n + costs.SlotOfSwitch(node.parent);
    tree.parent[v] = slot;
    tree.latency_ns[v] = node.latency_ns;
    tree.bandwidth_bytes_per_s[v] = node.bandwidth_bytes_per_s;
    for (uint32_t s = node.parent; !seen[slot]; s = topology.switches()[s].parent) {
      seen[slot] = true;
      const topology::Switch& item = topology.switches()[s];
      if (item.parent == topology::kNoParent) break;
      tree.parent[slot] = n + costs.SlotOfSwitch(item.parent);
      tree.latency_ns[slot] = item.latency_ns;
      tree.bandwidth_bytes_per_s[slot] = item.bandwidth_bytes_per_s;
      slot = tree.parent[slot];
    }
  }
  return tree;
}

}  // namespace

absl::StatusOr<BroadcastCosts> MessageCosts(const TeamCosts& costs, Collective collective, uint64_t bytes) {
  const CostParameters& parameters = costs.parameters();
  std::vector<int64_t> send, receive;
  for (uint32_t v = 0; v < costs.node_count(); ++v) {
    const int64_t sends = costs.node(v).send_overhead_ns + PerByteNs(bytes, parameters.send_ps_per_byte);
    const int64_t receives = costs.node(v).receive_overhead_ns + PerByteNs(bytes, parameters.receive_ps_per_byte);
    const int64_t combines = receives + PerByteNs(bytes, parameters.alu_ps_per_byte);
    switch (collective) {
      case Collective::kBcast:
      case Collective::kScatter:
      case Collective::kScatterv:
        send.push_back(sends);
        receive.push_back(receives + parameters.wake_ns);
        break;
      case Collective::kReduce:
      case Collective::kGather:
      case Collective::kGatherv:
        send.push_back(combines);
        receive.push_back(sends + parameters.wake_ns);
        break;
      default:
        send.push_back((sends + combines) / 2);
        receive.push_back((sends + receives) / 2 + parameters.wake_ns);
        break;
    }
  }
  return BroadcastCosts::FromTree(TreeOf(costs), send, receive, std::max<uint64_t>(bytes, 1));
}

absl::StatusOr<BroadcastCosts> EmptyMessageCosts(const TeamCosts& costs, bool reversed) {
  std::vector<int64_t> send, receive;
  for (uint32_t v = 0; v < costs.node_count(); ++v) {
    send.push_back(costs.node(v).send_overhead_ns);
    receive.push_back(costs.node(v).receive_overhead_ns);
  }
  if (reversed) std::swap(send, receive);
  return BroadcastCosts::FromTree(TreeOf(costs), send, receive, 1);
}

}  // namespace copse::planner
