// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of one team cost, and the paths between them: the cost model's input.
#ifndef COPSE_PLANNER_TEAM_COSTS_H_
#define COPSE_PLANNER_TEAM_COSTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/topology/topology.h"

namespace copse::planner {

// Where the defaults come from. Our own, for daemons that are processes of one small machine and speak TCP over
// loopback; the sources we follow print no figures for a trigger unit made of software. What was measured: one way
// between two sleeping processes 10 us over TCP on one core and 5.8 us through shared memory, 5 us over TCP without
// sleeping; a wake across cores 20 to 30 us. With topology::FlatCosts, 2 us to send, 1 us under way and 2 us to
// receive, that leaves 5 us for a wake and 1 us for a client's hop. A core that changes whom it runs is ours, too: less
// than a wake. The rates are those of memory copies and of a
// loop over doubles.
struct CalibrateDefaults {
  static constexpr int64_t kWakeNs = 5'000;
  static constexpr int64_t kTakeoverNs = 2'000;
  static constexpr int64_t kClientHopNs = 1'000;
  static constexpr int64_t kArmNs = 50;
  static constexpr int64_t kMessagePsPerByte = 250;
  static constexpr int64_t kCopyPsPerByte = 100;
  static constexpr int64_t kAluPsPerByte = 300;
};

inline constexpr int64_t kCostParameterMax = 1'000'000'000;

// What costs the same at all nodes of a cluster. Overheads, latencies and bandwidths differ by node: they are the
// topology's. Nanoseconds, and picoseconds a byte; each in [0, kCostParameterMax].
struct CostParameters {
  int64_t wake_ns = CalibrateDefaults::kWakeNs;  // before a daemon or rank that sleeps does anything
  // In place of it if a core had to be waited for: that core is awake, and only changes whom it runs.
  int64_t takeover_ns = CalibrateDefaults::kTakeoverNs;
  // A daemon or rank idle for no longer than this is still awake, if nobody else wants its core.
  int64_t spin_ns = 0;
  int64_t client_hop_ns =
      CalibrateDefaults::kClientHopNs;         // a rank's own work to post a call, and to take up its result
  int64_t arm_ns = CalibrateDefaults::kArmNs;  // a descriptor: to fetch it and to arm it
  int64_t send_ps_per_byte = CalibrateDefaults::kMessagePsPerByte;
  int64_t receive_ps_per_byte = CalibrateDefaults::kMessagePsPerByte;
  int64_t copy_ps_per_byte = CalibrateDefaults::kCopyPsPerByte;
  int64_t alu_ps_per_byte = CalibrateDefaults::kAluPsPerByte;  // an operand's byte that is combined with another
  friend bool operator==(const CostParameters&, const CostParameters&) = default;
};

// INVALID_ARGUMENT names the parameter that is out of range.
absl::Status CheckCostParameters(const CostParameters& parameters);

// One node of the team.
struct NodeCosts {
  int64_t send_overhead_ns = 0;
  int64_t receive_overhead_ns = 0;
  uint32_t host = 0;  // index of its host in this team
};

// TeamCosts maps a team's nodes onto the topology. Immutable; thread-safe. The topology must outlive it.
class TeamCosts {
 public:
  // `node_names`[v] is the name of the team's node v.
  // Errors:  NOT_FOUND if the topology has no such node; INVALID_ARGUMENT if there are no nodes, or as
  //          CheckCostParameters.
  static absl::StatusOr<TeamCosts> Create(absl::Span<const std::string> node_names, const topology::Topology& topology,
                                          const CostParameters& parameters);

  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }
  const CostParameters& parameters() const { return parameters_; }
  const NodeCosts& node(uint32_t v) const { return nodes_[v]; }
  const std::string& NameOf(uint32_t v) const { return topology_->nodes()[place_[v]].name; }
  uint32_t host_count() const { return static_cast<uint32_t>(host_cores_.size()); }
  // 0: whoever runs there never waits for a core.
  uint32_t CoresOf(uint32_t host) const { return host_cores_[host]; }

  // Node v in the topology.
  uint32_t PlaceOf(uint32_t v) const { return place_[v]; }
  const topology::Topology& topology() const { return *topology_; }
  // The switches above the team's nodes, densely numbered.
  uint32_t switch_slot_count() const { return static_cast<uint32_t>(switch_slots_.size()); }
  uint32_t SlotOfSwitch(uint32_t switch_index) const { return switch_slots_.at(switch_index); }
  topology::Path PathBetween(uint32_t a, uint32_t b) const { return topology_->PathBetween(place_[a], place_[b]); }

 private:
  TeamCosts() = default;

  const topology::Topology* topology_ = nullptr;
  CostParameters parameters_;
  std::vector<NodeCosts> nodes_;
  std::vector<uint32_t> place_;
  std::vector<uint32_t> host_cores_;
  absl::flat_hash_map<uint32_t, uint32_t> switch_slots_;
};

// Time for the tail of a message to follow its head: floor((bytes - 1) * 10^9 / bandwidth); 0 for at most one byte.
// bytes <= 2^33.
int64_t StreamNs(uint64_t bytes, int64_t bandwidth_bytes_per_s);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_TEAM_COSTS_H_
