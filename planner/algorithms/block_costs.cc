// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/block_costs.h"

#include <numeric>

#include "base/status_macros.h"
#include "planner/topology/stream_time.h"

namespace copse::planner {

absl::StatusOr<BlockCosts> BlockCosts::Create(const topology::Topology* topology, absl::Span<const uint32_t> places,
                                              uint64_t block_bytes) {
  ASSIGN_OR_RETURN(BroadcastCosts one, BroadcastCosts::FromTopology(*topology, places, block_bytes));
  // The block's size has been checked, so the product does not overflow.
  ASSIGN_OR_RETURN(BroadcastCosts all, BroadcastCosts::FromTopology(*topology, places, block_bytes * places.size()));
  one.FillMatrix();
  return BlockCosts(topology, {places.begin(), places.end()}, block_bytes, std::move(one), std::move(all));
}

absl::StatusOr<BlockCosts> BlockCosts::Create(const topology::Topology* topology, uint64_t block_bytes) {
  std::vector<uint32_t> places(topology->nodes().size());
  std::iota(places.begin(), places.end(), 0);
  return Create(topology, places, block_bytes);
}

BroadcastCosts::Pair BlockCosts::Between(uint32_t i, uint32_t j, uint32_t blocks) const {
  const topology::Path path = topology_->PathBetween(places_[i], places_[j]);
  return {path.latency_ns, topology::StreamNs(blocks * block_bytes_, path.bandwidth_bytes_per_s)};
}

absl::StatusOr<BroadcastCosts> BlockCosts::Of(uint32_t blocks) const {
  ASSIGN_OR_RETURN(BroadcastCosts costs, BroadcastCosts::FromTopology(*topology_, places_, blocks * block_bytes_));
  costs.FillMatrix();
  return mirrored_ ? costs.Mirrored() : costs;
}

BlockCosts BlockCosts::Mirrored() const {
  BlockCosts mirror(topology_, places_, block_bytes_, one_.Mirrored(), all_.Mirrored());
  mirror.mirrored_ = !mirrored_;
  return mirror;
}

}  // namespace copse::planner
