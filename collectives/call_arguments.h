// SPDX-License-Identifier: Apache-2.0
//
// What all ranks of a call give alike, and where one rank's blocks lie. C++ without any library.
#ifndef COPSE_COLLECTIVES_CALL_ARGUMENTS_H_
#define COPSE_COLLECTIVES_CALL_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/element_types.h"
#include "collectives/collective.h"

namespace copse {

// Bytes [offset, offset + bytes) of a buffer.
struct Block {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Block&, const Block&) = default;
};
// By rank.
using BlockList = std::vector<Block>;

// Arguments that every rank of a call must give alike (MPI's rule); the packet hash covers them all.
struct CallArguments {
  Collective collective = Collective::kBarrier;
  ElementType type = ElementType::kUint8;
  ElementOp op = ElementOp::kSum;
  uint8_t options = 0;       // CallOptions
  uint32_t counts_hash = 0;  // HashCounts of what all ranks know: see KnowsCounts
  // Elements: of the buffer (bcast, reduce, allreduce, scan, exscan), of one rank's contribution (gather, allgather) or
  // result (scatter, reduce_scatter), of one block (alltoall), of all blocks together (CountsAllBlocks), of what a node
  // has for another one at most (kPairsBounded); 0 where the ranks need not know it (gatherv, scatterv, alltoallv).
  uint64_t count = 0;
  uint32_t root = 0;  // rank; 0 where the collective has none

  uint64_t bytes() const { return count * ElementBytes(type); }
  // Collectives without a root, type or operation are equal whatever stands in those fields.
  friend bool operator==(const CallArguments& a, const CallArguments& b);
};

// "allreduce sum double count 6", "bcast int32 count 4 root 2", "barrier".
std::string DescribeArguments(const CallArguments& arguments);
// 16-bit hash of (collective, operation, type, element count, root, options, counts).
uint16_t HashArguments(const CallArguments& arguments);
// Hash of the bytes of the ranks' blocks, by rank; never 0.
uint32_t HashCounts(const std::vector<uint64_t>& bytes);

}  // namespace copse

#endif  // COPSE_COLLECTIVES_CALL_ARGUMENTS_H_
