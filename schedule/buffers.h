// SPDX-License-Identifier: Apache-2.0
//
// Who sends and receives what in a call.
#ifndef COPSE_SCHEDULE_BUFFERS_H_
#define COPSE_SCHEDULE_BUFFERS_H_

#include <cstdint>

#include "schedule/collective.h"

namespace copse::schedule {

// What one rank's send or receive buffer holds.
enum class BufferKind : uint8_t {
  kNone,    // not used
  kOne,     // one block
  kBlocks,  // a block for each rank, or from each rank
};

// Of rank `rank` in a call with root `root`, which is not looked at where the collective has none.
//
//   collective       send               receive
//   barrier          -                  -
//   bcast            one, at the root   one, but at the root
//   reduce           one                one, at the root
//   allreduce        one                one
//   gather(v)        one                blocks, at the root
//   scatter(v)       blocks, at the root  one
//   allgather(v)     one                blocks
//   alltoall(v)      blocks             blocks
//   reduce_scatter(v)  blocks           one
//   scan             one                one
//   exscan           one                one, but at rank 0
//
// In place: where both are `one`, or one of them is `one` and the other has a block of this rank's own, the one may lie
// exactly there. Then there is nothing to copy. reduce_scatter and alltoall are never in place.
inline constexpr BufferKind SendBuffer(Collective collective, uint32_t rank, uint32_t root) {
  switch (PlanCollective(collective)) {
    case Collective::kBarrier:
      return BufferKind::kNone;
    case Collective::kBcast:
      return rank == root ? BufferKind::kOne : BufferKind::kNone;
    case Collective::kScatter:
      return rank == root ? BufferKind::kBlocks : BufferKind::kNone;
    case Collective::kAlltoall:
    case Collective::kReduceScatter:
      return BufferKind::kBlocks;
    default:
      return BufferKind::kOne;
  }
}

inline constexpr BufferKind ReceiveBuffer(Collective collective, uint32_t rank, uint32_t root) {
  switch (PlanCollective(collective)) {
    case Collective::kBarrier:
      return BufferKind::kNone;
    case Collective::kBcast:
      return rank != root ? BufferKind::kOne : BufferKind::kNone;
    case Collective::kReduce:
      return rank == root ? BufferKind::kOne : BufferKind::kNone;
    case Collective::kGather:
      return rank == root ? BufferKind::kBlocks : BufferKind::kNone;
    case Collective::kAllgather:
    case Collective::kAlltoall:
      return BufferKind::kBlocks;
    case Collective::kExscan:
      return rank != 0 ? BufferKind::kOne : BufferKind::kNone;
    default:
      return BufferKind::kOne;
  }
}

// Whether any rank's buffer has a block for each rank.
inline constexpr bool HoldsBlocks(Collective collective) {
  return SendBuffer(collective, 0, 0) == BufferKind::kBlocks || ReceiveBuffer(collective, 0, 0) == BufferKind::kBlocks;
}

// Whether a rank gives the sizes of all blocks: because it has a buffer with them, or because every rank has to know.
inline constexpr bool GivesSendBlocks(Collective collective, uint8_t options, uint32_t rank, uint32_t root) {
  return collective == Collective::kAlltoallv || collective == Collective::kReduceScatterv ||
         (collective == Collective::kScatterv && (rank == root || (options & kCountsKnown) != 0));
}
inline constexpr bool GivesReceiveBlocks(Collective collective, uint8_t options, uint32_t rank, uint32_t root) {
  return collective == Collective::kAlltoallv || collective == Collective::kAllgatherv ||
         (collective == Collective::kGatherv && (rank == root || (options & kCountsKnown) != 0));
}
// Whether all ranks know all sizes, and CallArguments.counts_hash says which.
inline constexpr bool KnowsCounts(Collective collective, uint8_t options) {
  return collective == Collective::kAllgatherv || collective == Collective::kReduceScatterv ||
         ((collective == Collective::kGatherv || collective == Collective::kScatterv) && (options & kCountsKnown) != 0);
}

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_BUFFERS_H_
