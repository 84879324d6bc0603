// SPDX-License-Identifier: Apache-2.0
//
// Computes the costs of messages of several blocks between nodes.
#ifndef COPSE_PLANNER_ALGORITHMS_BLOCK_COSTS_H_
#define COPSE_PLANNER_ALGORITHMS_BLOCK_COSTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/topology/topology.h"

namespace copse::planner {

// BlockCosts holds the costs of section 3.1 of the MGO paper for collectives in which every node has a block of the
// same size and a message carries any number of blocks. Immutable; thread-safe. The topology must outlive it.
class BlockCosts {
 public:
  // Maps node v to the topology's node places[v].
  // Errors:  INVALID_ARGUMENT like BroadcastCosts::FromTopology for one message with all nodes' blocks: it exceeds 2^33
  //          bytes, or its broadcast could take longer than 2^61 ns.
  static absl::StatusOr<BlockCosts> Create(const topology::Topology* topology, absl::Span<const uint32_t> places,
                                           uint64_t block_bytes);
  // Uses all nodes of the topology.
  static absl::StatusOr<BlockCosts> Create(const topology::Topology* topology, uint64_t block_bytes);

  uint32_t node_count() const { return static_cast<uint32_t>(places_.size()); }
  uint64_t block_bytes() const { return block_bytes_; }
  int64_t Send(uint32_t i) const { return one_.Send(i); }
  int64_t Receive(uint32_t j) const { return one_.Receive(j); }
  // Returns the costs of a message of `blocks` <= node_count() blocks. Requires i != j. Cost: O(depth).
  BroadcastCosts::Pair Between(uint32_t i, uint32_t j, uint32_t blocks) const;

  // Return the costs of broadcasts of one block, of `blocks` blocks, and of all nodes' blocks. The first two have their
  // matrix if the number of nodes permits one. Errors: those of Create, for a message of `blocks` blocks.
  const BroadcastCosts& OfOne() const { return one_; }
  absl::StatusOr<BroadcastCosts> Of(uint32_t blocks) const;
  const BroadcastCosts& OfAll() const { return all_; }

  // Returns costs that are mirrored for every message size (BroadcastCosts::Mirrored).
  BlockCosts Mirrored() const;

 private:
  BlockCosts(const topology::Topology* topology, std::vector<uint32_t> places, uint64_t block_bytes, BroadcastCosts one,
             BroadcastCosts all)
      : topology_(topology),
        places_(std::move(places)),
        block_bytes_(block_bytes),
        one_(std::move(one)),
        all_(std::move(all)) {}

  const topology::Topology* topology_;
  std::vector<uint32_t> places_;
  uint64_t block_bytes_;
  bool mirrored_ = false;
  BroadcastCosts one_, all_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_BLOCK_COSTS_H_
