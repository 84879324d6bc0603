// SPDX-License-Identifier: Apache-2.0
//
// Computes the costs of a message between any two nodes, for algorithms that decide by cost.
#ifndef COPSE_PLANNER_ALGORITHMS_BROADCAST_COSTS_H_
#define COPSE_PLANNER_ALGORITHMS_BROADCAST_COSTS_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/topology/topology.h"

namespace copse::planner {

// CostTree is a cluster as a tree: vertices 0..n-1 are the nodes, the others switches.
struct CostTree {
  std::vector<uint32_t> parent;  // a switch; topology::kNoParent at the top
  // These give, by vertex, the link to its parent; they are unused at the top.
  std::vector<int64_t> latency_ns;
  std::vector<int64_t> bandwidth_bytes_per_s;
};

// BroadcastCosts holds the costs of section 3.1 of the MGO paper for messages of one size, in integer nanoseconds: to
// send to j, node i is busy for Send(i) + Stream(i, j); Latency(i, j) + Receive(j) later j has the message. Stream is
// the time between the arrivals of the message's first byte and of its last, topology::StreamNs.
//
// Its memory is linear in the number of vertices: latencies add up along the path, and the slowest link determines
// Stream. It is immutable except for FillMatrix, and thread-safe without calls of that.
class BroadcastCosts {
 public:
  // A matrix is made for at most this many nodes, for which it takes 64 MB.
  static constexpr uint32_t kMatrixNodesMax = 2000;

  // `send_ns` and `receive_ns` are by node; n is their size. Switches without nodes below them are dropped.
  // Errors:  INVALID_ARGUMENT if sizes differ, n is 0 or beyond topology::kNodeCountMax, a parent is no switch, there
  //          is not one top, there is a cycle, a vertex is deeper than topology::kDepthMax, a latency or overhead is
  //          not in [0, topology::kTimeNsMax], a bandwidth is not positive, `bytes` is beyond 2^33, or a broadcast
  //          could take longer than 2^61 ns.
  static absl::StatusOr<BroadcastCosts> FromTree(const CostTree& tree, absl::Span<const int64_t> send_ns,
                                                 absl::Span<const int64_t> receive_ns, uint64_t bytes);
  // Maps node v to the topology's node places[v], with that node's overheads. Errors: those of FromTree, and
  // INVALID_ARGUMENT if there is no such node.
  static absl::StatusOr<BroadcastCosts> FromTopology(const topology::Topology& topology,
                                                     absl::Span<const uint32_t> places, uint64_t bytes);
  // Uses all nodes of the topology.
  static absl::StatusOr<BroadcastCosts> FromTopology(const topology::Topology& topology, uint64_t bytes);

  uint32_t node_count() const { return static_cast<uint32_t>(send_ns_.size()); }
  int64_t Send(uint32_t i) const { return send_ns_[i]; }
  int64_t Receive(uint32_t j) const { return receive_ns_[j]; }

  // Requires i != j. Cost: O(1) with a matrix, else O(depth).
  int64_t Latency(uint32_t i, uint32_t j) const {
    return has_matrix() ? pairs_[size_t{i} * node_count() + j].latency_ns : Walk(i, j).latency_ns;
  }
  int64_t Stream(uint32_t i, uint32_t j) const {
    return has_matrix() ? pairs_[size_t{i} * node_count() + j].stream_ns : Walk(i, j).stream_ns;
  }
  struct Pair {
    int64_t latency_ns = 0;
    int64_t stream_ns = 0;
  };
  Pair Between(uint32_t i, uint32_t j) const {
    return has_matrix() ? pairs_[size_t{i} * node_count() + j] : Walk(i, j);
  }
  // Busy returns the time for which i is occupied by the message, Travel the time from then until j has it.
  int64_t Busy(uint32_t i, uint32_t j) const { return send_ns_[i] + Stream(i, j); }
  int64_t Travel(uint32_t i, uint32_t j) const { return Latency(i, j) + receive_ns_[j]; }
  // Returns C_ij, which is Busy + Travel.
  int64_t Cost(uint32_t i, uint32_t j) const {
    const Pair pair = Between(i, j);
    return send_ns_[i] + pair.latency_ns + pair.stream_ns + receive_ns_[j];
  }

  // These describe the cluster's tree. Vertices beyond the nodes are switches, parents before children; every switch
  // has nodes below it. LinkLatency and LinkStream are those of the vertex's link to its parent.
  uint32_t vertex_count() const { return static_cast<uint32_t>(parent_.size()); }
  uint32_t ParentOf(uint32_t vertex) const { return parent_[vertex]; }
  int64_t LinkLatency(uint32_t vertex) const { return link_latency_ns_[vertex]; }
  int64_t LinkStream(uint32_t vertex) const { return link_stream_ns_[vertex]; }
  // Returns a switch's depth: 0 at the top. A node's depth is its switch's plus 1.
  uint32_t DepthOf(uint32_t vertex) const { return depth_[vertex]; }

  bool has_matrix() const { return !pairs_.empty(); }
  // Computes a matrix that makes Latency and Stream O(1). Does nothing if there are more than kMatrixNodesMax nodes.
  // Cost: O(n^2 * depth) time and O(n^2) memory.
  void FillMatrix();

  // Returns the costs of the cluster with every message sent the other way in reversed time: send and receive overheads
  // are swapped, and so are the directions of the links.
  BroadcastCosts Mirrored() const;
  // Returns the costs among these nodes alone, renumbered by their place in `nodes`, which must not be empty (it dies)
  // nor have duplicates. The result has no matrix.
  BroadcastCosts Restricted(absl::Span<const uint32_t> nodes) const;

 private:
  BroadcastCosts() = default;
  absl::Status SetOverheads(absl::Span<const int64_t> send_ns, absl::Span<const int64_t> receive_ns);
  absl::Status CheckRange(int64_t pair_ns_max) const;

  Pair Walk(uint32_t i, uint32_t j) const {
    Pair pair{link_latency_ns_[i] + link_latency_ns_[j], std::max(link_stream_ns_[i], link_stream_ns_[j])};
    uint32_t a = parent_[i], b = parent_[j];
    while (a != b) {
      uint32_t& deeper = depth_[a] >= depth_[b] ? a : b;
      pair.latency_ns += link_latency_ns_[deeper];
      pair.stream_ns = std::max(pair.stream_ns, link_stream_ns_[deeper]);
      deeper = parent_[deeper];
    }
    return pair;
  }

  std::vector<int64_t> send_ns_, receive_ns_;
  std::vector<uint32_t> parent_;
  std::vector<uint32_t> depth_;
  std::vector<int64_t> link_latency_ns_, link_stream_ns_;
  std::vector<Pair> pairs_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_BROADCAST_COSTS_H_
