// SPDX-License-Identifier: Apache-2.0
//
// Defines the cost model's input: the costs of one team's nodes, and of the paths between them.
#ifndef COPSE_PLANNER_PRICING_TEAM_COSTS_H_
#define COPSE_PLANNER_PRICING_TEAM_COSTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/topology/cost_parameters.h"
#include "planner/topology/stream_time.h"
#include "planner/topology/topology.h"
#include "sim/cores.h"
#include "sim/links.h"

namespace copse::planner {

using topology::CheckCostParameters;
using topology::CostParameters;
using topology::kCostParameterMax;
using topology::PerByteNs;
using topology::StreamNs;

// NodeCosts holds the costs of one node of the team.
struct NodeCosts {
  int64_t send_overhead_ns = 0;
  int64_t receive_overhead_ns = 0;
  uint32_t host = 0;  // index of its host within the team
};

// TeamCosts maps a team's nodes to those of the topology, which must outlive it. Immutable, so thread-safe.
class TeamCosts {
 public:
  // `node_names`[v] is the name, in the topology, of the team's node v.
  // Errors:  NOT_FOUND if the topology has no such node; INVALID_ARGUMENT if there are no nodes, and from
  //          CheckCostParameters.
  static absl::StatusOr<TeamCosts> Create(absl::Span<const std::string> node_names, const topology::Topology& topology,
                                          const CostParameters& parameters);

  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }
  const CostParameters& parameters() const { return parameters_; }
  sim::WakeCosts wake_costs() const { return {parameters_.spin_ns, parameters_.wake_ns, parameters_.takeover_ns}; }
  const NodeCosts& node(uint32_t v) const { return nodes_[v]; }
  const std::string& NameOf(uint32_t v) const { return topology_->nodes()[place_[v]].name; }
  uint32_t host_count() const { return static_cast<uint32_t>(host_cores_.size()); }
  // Returns the number of the host's cores; 0: unlimited.
  uint32_t CoresOf(uint32_t host) const { return host_cores_[host]; }

  // Returns the topology's index of node v.
  uint32_t PlaceOf(uint32_t v) const { return place_[v]; }
  const topology::Topology& topology() const { return *topology_; }
  topology::Path PathBetween(uint32_t a, uint32_t b) const { return topology_->PathBetween(place_[a], place_[b]); }
  // Returns the number of switches above the team's nodes. Their slots are dense numbers from 0.
  uint32_t switch_slot_count() const { return static_cast<uint32_t>(switch_slots_.size()); }
  // Requires a switch above one of the team's nodes.
  uint32_t SlotOfSwitch(uint32_t switch_index) const { return switch_slots_.at(switch_index); }
  // Returns the number of directions of links: two for each of the team's nodes, and for each switch above them.
  uint32_t direction_count() const { return 2 * (node_count() + switch_slot_count()); }
  // Appends the hops of a message from one node to another, from the sender's own link to the receiver's. O(depth).
  void AppendHops(uint32_t from, uint32_t to, std::vector<sim::Hop>* hops) const;

 private:
  TeamCosts() = default;

  const topology::Topology* topology_ = nullptr;
  CostParameters parameters_;
  std::vector<NodeCosts> nodes_;
  std::vector<uint32_t> place_;
  std::vector<uint32_t> host_cores_;
  absl::flat_hash_map<uint32_t, uint32_t> switch_slots_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_TEAM_COSTS_H_
