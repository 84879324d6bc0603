// SPDX-License-Identifier: Apache-2.0
//
// The arguments that all ranks of a call share. C++ without any library.
#ifndef COPSE_COLLECTIVES_CALL_ARGUMENTS_H_
#define COPSE_COLLECTIVES_CALL_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/element_types.h"
#include "collectives/block.h"
#include "collectives/collective.h"

namespace copse {

// The arguments that must be equal at every rank of a call (MPI's rule); the packet hash covers them all.
struct CallArguments {
  Collective collective = Collective::kBarrier;
  ElementType type = ElementType::kUint8;
  ElementOp op = ElementOp::kSum;
  uint8_t options = 0;       // CallOptions
  uint32_t counts_hash = 0;  // HashCounts of the commonly known sizes: see KnowsCounts
  // Elements: of the buffer (bcast, reduce, allreduce, scan, exscan), of one rank's contribution (gather, allgather)
  // or result (scatter, reduce_scatter), of one block (alltoall), of all blocks together (CountsAllBlocks), the most
  // that a node has for another one (kPairsBounded); 0 where the ranks need not know it (gatherv, scatterv,
  // alltoallv).
  uint64_t count = 0;
  uint32_t root = 0;  // rank; 0 where the collective has none

  uint64_t bytes() const { return count * ElementBytes(type); }
  // Fields that a collective does not use (root, type, operation) are ignored.
  friend bool operator==(const CallArguments& a, const CallArguments& b);
};

// Returns "allreduce sum double count 6", "bcast int32 count 4 root 2", "barrier".
std::string DescribeArguments(const CallArguments& arguments);
// Returns a 16-bit hash of (collective, operation, type, element count, root, options, counts).
uint16_t HashArguments(const CallArguments& arguments);
// Returns a hash of the bytes of the ranks' blocks, by rank; never 0.
uint32_t HashCounts(const std::vector<uint64_t>& bytes);

}  // namespace copse

#endif  // COPSE_COLLECTIVES_CALL_ARGUMENTS_H_
