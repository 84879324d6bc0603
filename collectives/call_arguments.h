// SPDX-License-Identifier: Apache-2.0
//
// Defines the arguments that all ranks of a call share. It uses no library but the language's.
#ifndef COPSE_COLLECTIVES_CALL_ARGUMENTS_H_
#define COPSE_COLLECTIVES_CALL_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/element_types.h"
#include "collectives/block.h"
#include "collectives/collective.h"

namespace copse {

// CallArguments are the arguments that must be equal at every rank of a call (MPI's rule). Packets carry a hash of them
// (HashArguments), by which daemons detect ranks that differ.
struct CallArguments {
  Collective collective = Collective::kBarrier;
  ElementType type = ElementType::kUint8;
  ElementOp op = ElementOp::kSum;
  uint8_t options = 0;       // CallOptions
  uint32_t counts_hash = 0;  // HashCounts of all blocks' sizes if KnowsCounts, otherwise 0
  // Counts the elements: in the buffer (bcast, reduce, allreduce, scan, exscan), in one rank's contribution (gather,
  // allgather) or result (scatter, reduce_scatter), in one block (alltoall), in all blocks together (allgatherv,
  // reduce_scatterv); with kPairsBounded the most that one node sends to another. 0 for gatherv, scatterv and other
  // alltoallv, whose lengths only some ranks know.
  uint64_t count = 0;
  uint32_t root = 0;  // rank; 0 where the collective has none

  uint64_t bytes() const { return count * ElementBytes(type); }
  // Ignores fields that the collective does not use: root, operation, and for a barrier all others.
  friend bool operator==(const CallArguments& a, const CallArguments& b);
};

// Returns a text for messages: "allreduce sum double count 6", "bcast int32 count 4 root 2", "barrier".
std::string DescribeArguments(const CallArguments& arguments);
// Returns a hash of all fields that the collective uses; equal arguments have equal hashes.
uint16_t HashArguments(const CallArguments& arguments);
// Returns a hash of a list of block lengths in bytes. It is never 0, which means that there is no list.
uint32_t HashCounts(const std::vector<uint64_t>& bytes);

}  // namespace copse

#endif  // COPSE_COLLECTIVES_CALL_ARGUMENTS_H_
