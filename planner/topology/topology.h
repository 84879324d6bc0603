// SPDX-License-Identifier: Apache-2.0
//
// Defines the cluster as a tree with costs: leaves are nodes, inner vertices are switches (papers: MGO, section 3.2).
// Times are integer nanoseconds and bandwidths integer bytes per second, so that equality is testable.
#ifndef COPSE_PLANNER_TOPOLOGY_TOPOLOGY_H_
#define COPSE_PLANNER_TOPOLOGY_TOPOLOGY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/topology/cost_parameters.h"

namespace copse::topology {

inline constexpr uint32_t kNodeCountMax = 1u << 20;
inline constexpr uint32_t kSwitchCountMax = 1u << 20;
// Limits the switches above a node, which bounds path queries.
inline constexpr uint32_t kDepthMax = 64;
inline constexpr int64_t kTimeNsMax = 1'000'000'000'000;                       // 1000 s
inline constexpr int64_t kBandwidthBytesPerSecondMax = 1'000'000'000'000'000;  // 1 PB/s
inline constexpr uint32_t kCoreCountMax = 1u << 16;

inline constexpr uint32_t kNoParent = 0xffffffff;

// A Switch has the latency and the bandwidth of the link to its parent; they are unused at the root.
struct Switch {
  std::string name;
  uint32_t parent = kNoParent;  // index of a switch
  int64_t latency_ns = 0;
  int64_t bandwidth_bytes_per_s = 0;
  friend bool operator==(const Switch&, const Switch&) = default;
};

struct Node {
  std::string name;
  uint32_t parent = 0;              // index of its switch
  int64_t overhead_ns = 0;          // busy time to send, and to receive unless receive_overhead_ns is set
  int64_t receive_overhead_ns = 0;  // 0: equal to overhead_ns
  int64_t latency_ns = 0;           // latency and bandwidth are those of the link to the switch
  int64_t bandwidth_bytes_per_s = 0;
  uint32_t cores = 0;  // number of cores that the daemon and its ranks share; 0: unlimited
  std::string host;    // nodes of one host share its cores; empty: no other node is on this host
  friend bool operator==(const Node&, const Node&) = default;
};

// A Defect is an error in a cluster's description, with the index of the switch or node.
struct Defect {
  bool in_switch = false;
  uint32_t index = 0;
  std::string text;  // "what: why (thing=value, limit=value)"
};

// A Path has L_ij and b_ij of the MGO paper's section 3.1.
struct Path {
  int64_t latency_ns = 0;             // sum over the path's links
  int64_t bandwidth_bytes_per_s = 0;  // minimum over the path's links
};

// A Topology is immutable; all methods are const and thread-safe. Nodes and switches keep their given order.
class Topology {
 public:
  // Returns the first defect, or nullopt. Defects are: no switches or nodes, too many, duplicate or empty names,
  // figures out of range, a parent that does not exist, several roots, a cycle, more than kDepthMax levels, and one
  // host with two numbers of cores.
  static std::optional<Defect> FindDefect(const std::vector<Switch>& switches, const std::vector<Node>& nodes);

  // Errors: INVALID_ARGUMENT with the text of FindDefect, or from CheckCostParameters. Cost: O(switches + nodes)
  //         expected.
  static absl::StatusOr<Topology> Create(std::vector<Switch> switches, std::vector<Node> nodes,
                                         const CostParameters& costs = {});

  const std::vector<Switch>& switches() const { return switches_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  uint32_t root_switch() const { return root_; }
  const CostParameters& costs() const { return costs_; }

  std::optional<uint32_t> FindNode(std::string_view name) const;

  // Returns the depth of a switch: 0 at the root.
  uint32_t DepthOf(uint32_t switch_index) const { return depth_[switch_index]; }
  // Returns a switch's place in a depth-first walk from the root, children by index: subtrees are contiguous.
  uint32_t PreorderOf(uint32_t switch_index) const { return preorder_[switch_index]; }
  // Returns the lowest switch that is above both, or one of them. Cost: O(depth).
  uint32_t CommonSwitch(uint32_t switch_a, uint32_t switch_b) const;

  // Returns the path between two different nodes, by index. Cost: O(depth); no matrix is kept.
  Path PathBetween(uint32_t node_a, uint32_t node_b) const;

  // Returns whether both have the same switches and nodes in the same order, and the same costs.
  friend bool operator==(const Topology& a, const Topology& b) {
    return a.switches_ == b.switches_ && a.nodes_ == b.nodes_ && a.costs_ == b.costs_;
  }

 private:
  Topology() = default;

  std::vector<Switch> switches_;
  std::vector<Node> nodes_;
  CostParameters costs_;
  uint32_t root_ = 0;
  std::vector<uint32_t> depth_;
  std::vector<uint32_t> preorder_;
  std::vector<int64_t> latency_to_root_ns_;
  absl::flat_hash_map<std::string, uint32_t> node_by_name_;
};

// FlatCosts holds the default costs of a node without a description or measurement, for processes of one small machine
// over loopback TCP. They are estimated from a one-way event-driven message of 10 us on one core (cost_parameters.h).
struct FlatCosts {
  int64_t overhead_ns = 2'000;
  int64_t receive_overhead_ns = 0;  // 0: equal to overhead_ns
  int64_t latency_ns = 500;         // latency of a node's link, of which a path has two
  int64_t bandwidth_bytes_per_s = 2'000'000'000;
  uint32_t cores = 0;
  std::string host;  // if not empty, all nodes share the cores of this host
};

Node MakeNode(std::string name, uint32_t parent, const FlatCosts& costs = {});

// Makes a topology with all nodes on one switch named "core", each with the same costs, and default CostParameters.
// Errors: those of Topology::Create.
absl::StatusOr<Topology> FlatTopology(absl::Span<const std::string> names, const FlatCosts& costs = {});

}  // namespace copse::topology

#endif  // COPSE_PLANNER_TOPOLOGY_TOPOLOGY_H_
