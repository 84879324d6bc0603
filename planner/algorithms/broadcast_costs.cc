// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/broadcast_costs.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "planner/topology/stream_time.h"

namespace copse::planner {
namespace {

using topology::kNoParent;

constexpr int64_t kBroadcastNsMax = int64_t{1} << 61;
constexpr uint64_t kBytesMax = uint64_t{1} << 33;

absl::Status CheckBytes(uint64_t bytes) {
  if (bytes <= kBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("message: too long (bytes=", bytes, ", limit=", kBytesMax, ")"));
}

absl::Status CheckLink(size_t index, int64_t latency_ns, int64_t bandwidth) {
  if (latency_ns < 0 || latency_ns > topology::kTimeNsMax) {
    return absl::InvalidArgumentError(absl::StrCat("link ", index, ": latency out of range (latency_ns=", latency_ns,
                                                   ", limit=", topology::kTimeNsMax, ")"));
  }
  if (bandwidth <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("link ", index, ": bandwidth must be positive (bandwidth=", bandwidth, ", least=1)"));
  }
  return absl::OkStatus();
}

// Returns the nodes, and then the switches that have nodes below them, parents before children; a vertex's place is its
// new number. Errors: INVALID_ARGUMENT if a parent is no switch, there is a cycle, or there is not exactly one top.
absl::StatusOr<std::vector<uint32_t>> OrderVertices(const CostTree& tree, uint32_t n) {
  const uint32_t count = static_cast<uint32_t>(tree.parent.size());
  std::vector<uint32_t> below(count, 0), children(count, 0);
  uint32_t top = kNoParent;
  for (uint32_t v = 0; v < count; ++v) {
    const uint32_t parent = tree.parent[v];
    if (parent == kNoParent && v >= n) {
      if (top != kNoParent) {
        return absl::InvalidArgumentError(absl::StrCat("tree: two tops (vertices=", top, " and ", v, ", limit=1)"));
      }
      top = v;
      continue;
    }
    if (parent < n || parent >= count || parent == v) {
      return absl::InvalidArgumentError(absl::StrCat("tree: vertex ", v, ": its parent is no switch (parent=", parent,
                                                     ", switches=", n, "-", count, ")"));
    }
    ++children[parent];
  }
  // Vertices are removed from the leaves up. One on a cycle always keeps a child, so exactly those on cycles remain.
  std::vector<uint32_t> order;
  order.reserve(count);
  for (uint32_t v = 0; v < count; ++v) {
    below[v] = v < n;
    if (children[v] == 0) order.push_back(v);
  }
  for (size_t at = 0; at < order.size(); ++at) {
    const uint32_t parent = tree.parent[order[at]];
    if (parent == kNoParent) continue;
    below[parent] |= below[order[at]];
    if (--children[parent] == 0) order.push_back(parent);
  }
  if (order.size() != count || top == kNoParent) {
    return absl::InvalidArgumentError(
        absl::StrCat("tree: has a cycle or no top (vertices=", count, ", in order=", order.size(), ")"));
  }
  std::vector<uint32_t> kept(n);
  std::iota(kept.begin(), kept.end(), 0);
  for (size_t i = order.size(); i-- > 0;) {
    if (order[i] >= n && below[order[i]]) kept.push_back(order[i]);
  }
  return kept;
}

}  // namespace

absl::Status BroadcastCosts::SetOverheads(absl::Span<const int64_t> send_ns, absl::Span<const int64_t> receive_ns) {
  if (send_ns.empty() || send_ns.size() > topology::kNodeCountMax || receive_ns.size() != send_ns.size()) {
    return absl::InvalidArgumentError(absl::StrCat("overheads: not one of each kind a node (send=", send_ns.size(),
                                                   ", receive=", receive_ns.size(), ", limit=", topology::kNodeCountMax,
                                                   ")"));
  }
  for (const absl::Span<const int64_t> overheads : {send_ns, receive_ns}) {
    for (const int64_t overhead : overheads) {
      if (overhead < 0 || overhead > topology::kTimeNsMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("overhead: out of range (ns=", overhead, ", limit=", topology::kTimeNsMax, ")"));
      }
    }
  }
  send_ns_.assign(send_ns.begin(), send_ns.end());
  receive_ns_.assign(receive_ns.begin(), receive_ns.end());
  return absl::OkStatus();
}

absl::Status BroadcastCosts::CheckRange(int64_t pair_ns_max) const {
  const int64_t each = *std::max_element(send_ns_.begin(), send_ns_.end()) +
                       *std::max_element(receive_ns_.begin(), receive_ns_.end()) + pair_ns_max;
  if (each <= kBroadcastNsMax / node_count()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("costs: a broadcast could take too long (message in ns=", each,
                                                 ", nodes=", node_count(), ", limit=", kBroadcastNsMax, ")"));
}

absl::StatusOr<BroadcastCosts> BroadcastCosts::FromTree(const CostTree& tree, absl::Span<const int64_t> send_ns,
                                                        absl::Span<const int64_t> receive_ns, uint64_t bytes) {
  BroadcastCosts costs;
  RETURN_IF_ERROR(CheckBytes(bytes));
  RETURN_IF_ERROR(costs.SetOverheads(send_ns, receive_ns));
  const uint32_t n = costs.node_count();
  const size_t count = tree.parent.size();
  if (count <= n || tree.latency_ns.size() != count || tree.bandwidth_bytes_per_s.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("tree: sizes differ (nodes=", n, ", parents=", count,
                                                   ", latencies=", tree.latency_ns.size(),
                                                   ", bandwidths=", tree.bandwidth_bytes_per_s.size(), ")"));
  }
  ASSIGN_OR_RETURN(const std::vector<uint32_t> kept, OrderVertices(tree, n));
  for (size_t v = 0; v < count; ++v) {
    if (tree.parent[v] == kNoParent) continue;
    RETURN_IF_ERROR(CheckLink(v, tree.latency_ns[v], tree.bandwidth_bytes_per_s[v]));
  }

  std::vector<uint32_t> number(count, kNoParent);
  for (uint32_t i = 0; i < kept.size(); ++i) number[kept[i]] = i;
  costs.parent_.resize(kept.size());
  costs.depth_.assign(kept.size(), 0);
  costs.link_latency_ns_.assign(kept.size(), 0);
  costs.link_stream_ns_.assign(kept.size(), 0);
  int64_t stream_ns_max = 0, to_top_ns_max = 0;
  std::vector<int64_t> to_top_ns(kept.size(), 0);
  const auto place = [&](uint32_t i) -> absl::Status {
    const uint32_t parent = tree.parent[kept[i]];
    costs.parent_[i] = parent == kNoParent ? kNoParent : number[parent];
    if (parent == kNoParent) return absl::OkStatus();
    costs.depth_[i] = costs.depth_[number[parent]] + 1;
    if (costs.depth_[i] > topology::kDepthMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("tree: too deep (vertex=", kept[i], ", limit=", topology::kDepthMax, ")"));
    }
    costs.link_latency_ns_[i] = tree.latency_ns[kept[i]];
    costs.link_stream_ns_[i] = topology::StreamNs(bytes, tree.bandwidth_bytes_per_s[kept[i]]);
    to_top_ns[i] = to_top_ns[number[parent]] + costs.link_latency_ns_[i];
    stream_ns_max = std::max(stream_ns_max, costs.link_stream_ns_[i]);
    to_top_ns_max = std::max(to_top_ns_max, to_top_ns[i]);
    return absl::OkStatus();
  };
  for (uint32_t i = n; i < kept.size(); ++i) RETURN_IF_ERROR(place(i));
  for (uint32_t i = 0; i < n; ++i) RETURN_IF_ERROR(place(i));
  // The limit keeps the sum from overflowing. CheckRange refuses so long a time if there are several nodes.
  stream_ns_max = std::min(stream_ns_max, kBroadcastNsMax);
  RETURN_IF_ERROR(costs.CheckRange(2 * to_top_ns_max + stream_ns_max));
  return costs;
}

absl::StatusOr<BroadcastCosts> BroadcastCosts::FromTopology(const topology::Topology& topology,
                                                            absl::Span<const uint32_t> places, uint64_t bytes) {
  const size_t n = places.size(), switches = topology.switches().size();
  CostTree tree;
  tree.parent.reserve(n + switches);
  tree.latency_ns.reserve(n + switches);
  tree.bandwidth_bytes_per_s.reserve(n + switches);
  std::vector<int64_t> send_ns, receive_ns;
  send_ns.reserve(n);
  receive_ns.reserve(n);
  for (const uint32_t place : places) {
    if (place >= topology.nodes().size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("team: no such node (place=", place, ", nodes=", topology.nodes().size(), ")"));
    }
    const topology::Node& node = topology.nodes()[place];
    tree.parent.push_back(static_cast<uint32_t>(n) + node.parent);
    tree.latency_ns.push_back(node.latency_ns);
    tree.bandwidth_bytes_per_s.push_back(node.bandwidth_bytes_per_s);
    send_ns.push_back(node.overhead_ns);
    receive_ns.push_back(node.receive_overhead_ns == 0 ? node.overhead_ns : node.receive_overhead_ns);
  }
  for (const topology::Switch& item : topology.switches()) {
    tree.parent.push_back(item.parent == kNoParent ? kNoParent : static_cast<uint32_t>(n) + item.parent);
    tree.latency_ns.push_back(item.latency_ns);
    tree.bandwidth_bytes_per_s.push_back(item.bandwidth_bytes_per_s);
  }
  return FromTree(tree, send_ns, receive_ns, bytes);
}

absl::StatusOr<BroadcastCosts> BroadcastCosts::FromTopology(const topology::Topology& topology, uint64_t bytes) {
  std::vector<uint32_t> places(topology.nodes().size());
  std::iota(places.begin(), places.end(), 0);
  return FromTopology(topology, places, bytes);
}

void BroadcastCosts::FillMatrix() {
  const uint32_t n = node_count();
  if (has_matrix() || n > kMatrixNodesMax) return;
  std::vector<Pair> pairs(size_t{n} * n);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t j = i + 1; j < n; ++j) {
      pairs[size_t{i} * n + j] = pairs[size_t{j} * n + i] = Walk(i, j);
    }
  }
  pairs_ = std::move(pairs);
}

BroadcastCosts BroadcastCosts::Mirrored() const {
  BroadcastCosts mirror = *this;
  std::swap(mirror.send_ns_, mirror.receive_ns_);  // the links are the same in both directions
  return mirror;
}

BroadcastCosts BroadcastCosts::Restricted(absl::Span<const uint32_t> nodes) const {
  CHECK(!nodes.empty());
  std::vector<bool> above(vertex_count(), false);
  for (const uint32_t node : nodes) {
    for (uint32_t v = parent_[node]; v != kNoParent && !above[v]; v = parent_[v]) above[v] = true;
  }
  std::vector<uint32_t> kept(nodes.begin(), nodes.end()), number(vertex_count(), kNoParent);
  for (uint32_t v = node_count(); v < vertex_count(); ++v) {  // parents stay before children
    if (above[v]) kept.push_back(v);
  }
  for (uint32_t i = 0; i < kept.size(); ++i) number[kept[i]] = i;
  BroadcastCosts few;
  for (const uint32_t node : nodes) {
    few.send_ns_.push_back(send_ns_[node]);
    few.receive_ns_.push_back(receive_ns_[node]);
  }
  for (const uint32_t v : kept) {
    few.parent_.push_back(parent_[v] == kNoParent ? kNoParent : number[parent_[v]]);
    few.depth_.push_back(depth_[v]);
    few.link_latency_ns_.push_back(link_latency_ns_[v]);
    few.link_stream_ns_.push_back(link_stream_ns_[v]);
  }
  return few;
}

}  // namespace copse::planner
