// SPDX-License-Identifier: Apache-2.0
//
// What a call is: the collective and its arguments, as planner, daemon and simulator see it.
#ifndef COPSE_SCHEDULE_COLLECTIVE_H_
#define COPSE_SCHEDULE_COLLECTIVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "offload_emu/alu.h"

namespace copse::schedule {

// The values are those of copse_collective_t in copse.h, and part of the plan format and packet hash: never renumber.
// reduce_scatter has equal blocks (MPI_Reduce_scatter_block), reduce_scatterv one count a rank (MPI_Reduce_scatter).
enum class Collective : uint8_t {
  kBarrier = 0,
  kBcast = 1,
  kReduce = 2,
  kAllreduce = 3,
  kGather = 4,
  kScatter = 5,
  kAllgather = 6,
  kAlltoall = 7,
  kReduceScatter = 8,
  kScan = 9,
  kExscan = 10,
  kGatherv = 11,
  kScatterv = 12,
  kAllgatherv = 13,
  kAlltoallv = 14,
  kReduceScatterv = 15,
};
inline constexpr int kCollectiveCount = 16;
std::string_view CollectiveName(Collective collective);
std::optional<Collective> CollectiveFromName(std::string_view name);

// Whether the collective has a root rank, whether it combines values, and (IsIrregular) whether ranks' blocks differ in
// size.
inline constexpr bool HasRoot(Collective c) {
  return c == Collective::kBcast || c == Collective::kReduce || c == Collective::kGather || c == Collective::kScatter ||
         c == Collective::kGatherv || c == Collective::kScatterv;
}
inline constexpr bool Reduces(Collective c) {
  return c == Collective::kReduce || c == Collective::kAllreduce || c == Collective::kReduceScatter ||
         c == Collective::kScan || c == Collective::kExscan || c == Collective::kReduceScatterv;
}
// Whether ranks' data lies side by side, in blocks, instead of being equal everywhere.
inline constexpr bool HasBlocks(Collective c) { return c > Collective::kAllreduce; }
inline constexpr bool IsIrregular(Collective c) { return c >= Collective::kGatherv; }
// Whose plans it runs by: its own, or those of its regular form.
inline constexpr Collective PlanCollective(Collective c) {
  switch (c) {
    case Collective::kGatherv:
      return Collective::kGather;
    case Collective::kScatterv:
      return Collective::kScatter;
    case Collective::kAllgatherv:
      return Collective::kAllgather;
    case Collective::kAlltoallv:
      return Collective::kAlltoall;
    case Collective::kReduceScatterv:
      return Collective::kReduceScatter;
    default:
      return c;
  }
}

// Collectives whose plans are made together and share edges and memory. The common ones come with the team; the others
// when a rank first calls one of them, as a companion of the team with calls of its own.
enum class Family : uint8_t {
  kCommon = 0,    // barrier, bcast, reduce, allreduce
  kRooted = 1,    // gather(v), scatter(v)
  kSpread = 2,    // allgather(v), reduce_scatter(v), scan, exscan
  kAlltoall = 3,  // alltoall(v)
};
inline constexpr int kFamilyCount = 4;
// Barrier to allreduce, by number: the members of Family::kCommon.
inline constexpr int kCommonCollectiveCount = 4;
std::string_view FamilyName(Family family);  // "common", "rooted", "spread", "alltoall"
Family FamilyOf(Collective collective);
// Those that have plans of their own, ascending.
absl::Span<const Collective> CollectivesOf(Family family);

enum CallOptions : uint8_t {
  // gatherv, scatterv: every rank gives all counts (papers: gatherv, "aggressive"), so the root need not tell them.
  kCountsKnown = 1,
  // Reductions: bit-identical for any tree, size class and placement.
  kReproducible = 2,
  // alltoallv: no node has more for another one, or for itself, than `count` elements. So all know how long the call
  // is,
  // and no node waits until all others have told it.
  kPairsBounded = 4,
};
// Bytes, with kPairsBounded: chunks are made for all that there may be, whether there is or not, so a client that says
// more would keep its daemon busy with nothing.
inline constexpr uint64_t kPairBoundMax = uint64_t{1} << 30;
// Of the bytes of each rank's block, by rank.
// Never 0.
uint32_t HashCounts(absl::Span<const uint64_t> bytes);

// Arguments that every rank of a call must give alike (MPI's rule); the packet hash covers them all.
struct CallArguments {
  Collective collective = Collective::kBarrier;
  emu::AluType type = emu::AluType::kUint8;
  emu::AluOp op = emu::AluOp::kSum;
  uint8_t options = 0;       // CallOptions
  uint32_t counts_hash = 0;  // HashCounts of what all ranks know: allgatherv, reduce_scatterv, or kCountsKnown
  // Elements: of the buffer (bcast, reduce, allreduce, scan, exscan), of one rank's contribution (gather, allgather) or
  // result (scatter, reduce_scatter), of one block (alltoall), of all blocks together (allgatherv, reduce_scatterv),
  // of what a node has for another one at most (alltoallv with kPairsBounded); 0 where the ranks need not know it
  // (gatherv, scatterv, alltoallv).
  uint64_t count = 0;
  uint32_t root = 0;  // rank; 0 where the collective has none

  uint64_t bytes() const { return count * emu::AluTypeBytes(type); }
  // Collectives without a root, type or operation are equal whatever stands in those fields.
  friend bool operator==(const CallArguments& a, const CallArguments& b);
};

// "allreduce sum double count 6", "bcast int32 count 4 root 2", "barrier".
std::string DescribeArguments(const CallArguments& arguments);
// 16-bit hash of (collective, operation, type, element count, root, options, counts).
uint16_t HashArguments(const CallArguments& arguments);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_COLLECTIVE_H_
