// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/block_price.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "planner/algorithms/block_costs.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/algorithms/trees/block_tree.h"

namespace copse::planner {
namespace {

// Limits the bytes of all nodes' blocks together to the range of BlockCosts, with a margin.
constexpr uint64_t kAllBytesMax = uint64_t{1} << 32;

uint32_t MostRanksOfANode(const schedule::TeamShape& shape) {
  std::vector<uint32_t> ranks(shape.node_count, 0);
  uint32_t most = 1;
  for (const NodeIndex node : shape.node_of_rank) most = std::max(most, ++ranks[node.value()]);
  return most;
}

int64_t CostOf(const BlockCosts& costs, uint32_t from, uint32_t to, uint32_t blocks) {
  const BroadcastCosts::Pair pair = costs.Between(from, to, blocks);
  return costs.Send(from) + pair.latency_ns + pair.stream_ns + costs.Receive(to);
}

int64_t TreePrice(const schedule::Plan& plan, const BlockCosts& costs) {
  const BroadcastTree tree = TreeOfNeighbors(costs.OfOne(), plan.root_node.value(), plan.neighbors);
  switch (plan.collective) {
    case Collective::kGather:
      return GatherCompletion(costs, tree);
    case Collective::kScatter:
      return ScatterCompletion(costs, tree);
    case Collective::kReduceScatter:
      return ManyToOneCompletion(costs.OfAll(), tree.edges, tree.root) + ScatterCompletion(costs, tree);
    default:
      return GatherCompletion(costs, tree) + Completion(costs.OfAll(), tree.edges);
  }
}

int64_t PairwisePrice(absl::Span<const uint32_t> cycle, const BlockCosts& costs) {
  const auto n = static_cast<uint32_t>(cycle.size());
  int64_t longest = 0;
  for (uint32_t p = 0; p < n; ++p) {
    int64_t busy = 0, end = 0;
    for (uint32_t d = 1; d < n; ++d) {
      const uint32_t from = cycle[p], to = cycle[(p + d) % n];
      const BroadcastCosts::Pair pair = costs.Between(from, to, 1);
      busy += costs.Send(from) + pair.stream_ns;
      end = std::max(end, busy + pair.latency_ns + costs.Receive(to));
    }
    longest = std::max(longest, end);
  }
  return longest;
}

// Every block has the tree of its owner, and each node is at every position of one of these trees. So over a distance
// it sends once for each position whose edge to the parent has that distance.
int64_t RotatedPrice(const schedule::Plan& plan, const BlockCosts& costs) {
  const absl::Span<const uint32_t> cycle = schedule::CycleOf(plan);
  const auto n = static_cast<uint32_t>(cycle.size());
  int64_t total = 0;
  for (const uint32_t distance : schedule::DistancesOf(plan)) {
    const int64_t sent = (n - 1 + distance) / (2 * distance);
    int64_t latency = 0, busy = 0;
    for (uint32_t p = 0; p < n; ++p) {
      const uint32_t from = cycle[p], to = cycle[(p + distance) % n];
      const BroadcastCosts::Pair pair = costs.Between(from, to, 1);
      latency = std::max(latency, pair.latency_ns);
      busy = std::max(busy, costs.Send(from) + pair.stream_ns + costs.Receive(to));
    }
    total += latency + sent * busy;
  }
  return total;
}

int64_t CirculantPrice(const schedule::Plan& plan, const BlockCosts& costs) {
  const absl::Span<const uint32_t> cycle = schedule::CycleOf(plan);
  const auto n = static_cast<uint32_t>(cycle.size());
  const bool passes_on = schedule::PassesOn(plan);
  if (plan.collective == Collective::kAlltoall && !passes_on) return PairwisePrice(cycle, costs);
  const bool scans = IsScan(plan.collective);
  const absl::Span<const uint32_t> distances = schedule::DistancesOf(plan);
  const bool ring = distances.size() == 1;
  if (plan.collective == Collective::kReduceScatter && !ring) return RotatedPrice(plan, costs);
  int64_t total = 0;
  for (const uint32_t distance : distances) {
    uint32_t blocks = scans ? 1 : std::min(distance, n - distance);
    if (passes_on) {
      blocks = 0;
      for (uint32_t way = distance; way < n; ++way) blocks += (way & distance) != 0 ? 1 : 0;
    }
    int64_t dearest = 0, sum = 0;
    for (uint32_t p = 0; p < n; ++p) {
      if (scans && p + distance >= n) break;
      const int64_t cost = CostOf(costs, cycle[p], cycle[(p + distance) % n], blocks);
      dearest = std::max(dearest, cost);
      sum += cost;
    }
    total += !ring ? dearest : scans ? sum : dearest * (n - 1);
  }
  return total;
}

}  // namespace

absl::StatusOr<int64_t> BlockPriceNs(const schedule::Plan& plan, const schedule::TeamShape& shape,
                                     const TeamCosts& costs, const CallArguments& arguments) {
  const uint64_t ranks = MostRanksOfANode(shape);
  uint64_t bytes = arguments.bytes() * ranks;
  if (IsScan(plan.collective)) bytes = arguments.bytes();
  if (plan.collective == Collective::kAlltoall) bytes *= ranks;
  std::vector<uint32_t> places;
  for (uint32_t v = 0; v < costs.node_count(); ++v) places.push_back(costs.PlaceOf(v));
  ASSIGN_OR_RETURN(
      const BlockCosts blocks,
      BlockCosts::Create(&costs.topology(), places,
                         std::clamp<uint64_t>(bytes, 1, std::max<uint64_t>(1, kAllBytesMax / costs.node_count()))));
  const CostParameters& parameters = costs.parameters();
  const int64_t ends = 2 * parameters.client_hop_ns + parameters.arm_ns;
  if (costs.node_count() == 1) return ends;
  return ends + (plan.kind == schedule::PlanKind::kTree ? TreePrice(plan, blocks) : CirculantPrice(plan, blocks));
}

}  // namespace copse::planner
