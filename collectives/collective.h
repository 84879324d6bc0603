// SPDX-License-Identifier: Apache-2.0
//
// Defines the properties of each collective in one table for library, daemon, planner, simulator, benchmarks and tests.
// It uses no library but the language's, as it is loaded into users' processes.
#ifndef COPSE_COLLECTIVES_COLLECTIVE_H_
#define COPSE_COLLECTIVES_COLLECTIVE_H_

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace copse {

// The values are those of copse_collective_t in copse.h, and part of the plan format and packet hash: never renumber.
// reduce_scatter has equal blocks (MPI_Reduce_scatter_block), reduce_scatterv has one count per rank
// (MPI_Reduce_scatter).
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

// A Family is a collective class: the collectives whose plans are made together and share edges and memory. The common
// class belongs to the team itself. Each other class has a derived team that numbers its calls separately, and that is
// formed when a rank first calls one of the class's collectives.
enum class Family : uint8_t {
  kCommon = 0,
  kRooted = 1,
  kSpread = 2,
  kAlltoall = 3,
};
inline constexpr int kFamilyCount = 4;
// The collectives with numbers below this, barrier to allreduce, are the members of Family::kCommon.
inline constexpr int kCommonCollectiveCount = 4;

// A BufferKind is the content of one rank's send or receive buffer.
enum class BufferKind : uint8_t {
  kNone,    // not used
  kOne,     // one block
  kBlocks,  // one block per rank
};

// Holders are the ranks that have the send (or the receive) buffer of a call. "First" is rank 0.
enum class Holders : uint8_t { kNone, kRoot, kAllButRoot, kAllButFirst, kAll };

// Operands are the ranks whose contributions a rank's result is combined from; kNone: the collective does not reduce.
enum class Operands : uint8_t { kNone, kAll, kUpToOwn, kBeforeOwn };

// A Nesting says which buffer of an in-place call lies within the other, as the rank's own block of it, at a rank that
// has both; kNone: neither does.
enum class Nesting : uint8_t { kNone, kSendInReceive, kReceiveInSend };

struct CollectiveTraits {
  std::string_view name;
  Family family;
  Collective regular;  // the form with equal blocks, whose plans it uses; the collective itself if it is regular
  Operands operands;
  BufferKind send;
  Holders senders;
  BufferKind receive;
  Holders receivers;
  Nesting nesting;
};

// The table is indexed by collective.
inline constexpr CollectiveTraits kCollectives[] = {
    {"barrier", Family::kCommon, Collective::kBarrier, Operands::kNone,  //
     BufferKind::kNone, Holders::kNone, BufferKind::kNone, Holders::kNone, Nesting::kNone},
    {"bcast", Family::kCommon, Collective::kBcast, Operands::kNone,  //
     BufferKind::kOne, Holders::kRoot, BufferKind::kOne, Holders::kAllButRoot, Nesting::kNone},
    {"reduce", Family::kCommon, Collective::kReduce, Operands::kAll,  //
     BufferKind::kOne, Holders::kAll, BufferKind::kOne, Holders::kRoot, Nesting::kSendInReceive},
    {"allreduce", Family::kCommon, Collective::kAllreduce, Operands::kAll,  //
     BufferKind::kOne, Holders::kAll, BufferKind::kOne, Holders::kAll, Nesting::kSendInReceive},
    {"gather", Family::kRooted, Collective::kGather, Operands::kNone,  //
     BufferKind::kOne, Holders::kAll, BufferKind::kBlocks, Holders::kRoot, Nesting::kSendInReceive},
    {"scatter", Family::kRooted, Collective::kScatter, Operands::kNone,  //
     BufferKind::kBlocks, Holders::kRoot, BufferKind::kOne, Holders::kAll, Nesting::kReceiveInSend},
    {"allgather", Family::kSpread, Collective::kAllgather, Operands::kNone,  //
     BufferKind::kOne, Holders::kAll, BufferKind::kBlocks, Holders::kAll, Nesting::kSendInReceive},
    {"alltoall", Family::kAlltoall, Collective::kAlltoall, Operands::kNone,  //
     BufferKind::kBlocks, Holders::kAll, BufferKind::kBlocks, Holders::kAll, Nesting::kNone},
    {"reduce_scatter", Family::kSpread, Collective::kReduceScatter, Operands::kAll,  //
     BufferKind::kBlocks, Holders::kAll, BufferKind::kOne, Holders::kAll, Nesting::kNone},
    {"scan", Family::kSpread, Collective::kScan, Operands::kUpToOwn,  //
     BufferKind::kOne, Holders::kAll, BufferKind::kOne, Holders::kAll, Nesting::kSendInReceive},
    {"exscan", Family::kSpread, Collective::kExscan, Operands::kBeforeOwn,  //
     BufferKind::kOne, Holders::kAll, BufferKind::kOne, Holders::kAllButFirst, Nesting::kSendInReceive},
    {"gatherv", Family::kRooted, Collective::kGather, Operands::kNone,  //
     BufferKind::kOne, Holders::kAll, BufferKind::kBlocks, Holders::kRoot, Nesting::kSendInReceive},
    {"scatterv", Family::kRooted, Collective::kScatter, Operands::kNone,  //
     BufferKind::kBlocks, Holders::kRoot, BufferKind::kOne, Holders::kAll, Nesting::kReceiveInSend},
    {"allgatherv", Family::kSpread, Collective::kAllgather, Operands::kNone,  //
     BufferKind::kOne, Holders::kAll, BufferKind::kBlocks, Holders::kAll, Nesting::kSendInReceive},
    {"alltoallv", Family::kAlltoall, Collective::kAlltoall, Operands::kNone,  //
     BufferKind::kBlocks, Holders::kAll, BufferKind::kBlocks, Holders::kAll, Nesting::kNone},
    {"reduce_scatterv", Family::kSpread, Collective::kReduceScatter, Operands::kAll,  //
     BufferKind::kBlocks, Holders::kAll, BufferKind::kOne, Holders::kAll, Nesting::kNone},
};
static_assert(std::size(kCollectives) == kCollectiveCount);

inline constexpr const CollectiveTraits& TraitsOf(Collective c) { return kCollectives[static_cast<int>(c)]; }

// Returns the lower-case name, or "unknown" if the number is not that of a collective.
inline constexpr std::string_view CollectiveName(Collective c) {
  return static_cast<int>(c) < kCollectiveCount ? TraitsOf(c).name : "unknown";
}
std::optional<Collective> CollectiveFromName(std::string_view name);

inline constexpr std::string_view FamilyName(Family family) {
  constexpr std::string_view kNames[] = {"common", "rooted", "spread", "alltoall"};
  static_assert(std::size(kNames) == kFamilyCount);
  return static_cast<int>(family) < kFamilyCount ? kNames[static_cast<int>(family)] : "unknown";
}
inline constexpr Family FamilyOf(Collective c) { return TraitsOf(c).family; }

inline constexpr Collective PlanCollective(Collective c) { return TraitsOf(c).regular; }
// Returns the regular collectives of the class, those for which plans are made, ascending.
std::vector<Collective> CollectivesOf(Family family);
// Returns whether ranks' blocks may differ in size.
inline constexpr bool IsIrregular(Collective c) { return PlanCollective(c) != c; }
// Returns whether the collective moves data; only barrier does not.
inline constexpr bool HasData(Collective c) { return TraitsOf(c).receive != BufferKind::kNone; }
inline constexpr bool Reduces(Collective c) { return TraitsOf(c).operands != Operands::kNone; }
inline constexpr bool HasRoot(Collective c) {
  return TraitsOf(c).senders == Holders::kRoot || TraitsOf(c).receivers == Holders::kRoot;
}
// Returns whether a rank's result is a reduction over the ranks before it, with or without its own contribution.
inline constexpr bool IsScan(Collective c) {
  return TraitsOf(c).operands == Operands::kUpToOwn || TraitsOf(c).operands == Operands::kBeforeOwn;
}
// Returns the number of ranks, from rank 0 on, whose contributions rank `rank`'s result is combined from; 0 if the
// collective does not reduce.
inline constexpr uint32_t OperandCount(Collective c, uint32_t rank, uint32_t size) {
  switch (TraitsOf(c).operands) {
    case Operands::kNone:
      return 0;
    case Operands::kAll:
      return size;
    case Operands::kUpToOwn:
      return rank + 1;
    case Operands::kBeforeOwn:
      return rank;
  }
  return 0;
}
// Returns the rank that sends block `index` of rank `rank`'s receive buffer, which has one block or one per rank. The
// collective must move data without reducing it.
inline constexpr uint32_t SourceOf(Collective c, uint32_t index, uint32_t /*rank*/, uint32_t /*size*/, uint32_t root) {
  return TraitsOf(c).receive == BufferKind::kBlocks ? index : root;
}
// Returns whether each pair of ranks has a block size of its own, known to these two only (alltoallv).
inline constexpr bool HasPairSizes(Collective c) { return IsIrregular(c) && FamilyOf(c) == Family::kAlltoall; }
// Returns whether any rank's buffer has a block for each rank.
inline constexpr bool HoldsBlocks(Collective c) {
  return TraitsOf(c).send == BufferKind::kBlocks || TraitsOf(c).receive == BufferKind::kBlocks;
}
// Returns whether this is a block collective: each rank has a block, or (scan, exscan) a result that depends on the
// rank. In the others all ranks' buffers have the length and meaning of one message.
inline constexpr bool HasBlocks(Collective c) { return FamilyOf(c) != Family::kCommon; }

// Returns whether rank `rank` is one of the holders in a call with root `root`. Holders that do not depend on the root
// ignore it.
inline constexpr bool Holds(Holders holders, uint32_t rank, uint32_t root) {
  switch (holders) {
    case Holders::kNone:
      return false;
    case Holders::kRoot:
      return rank == root;
    case Holders::kAllButRoot:
      return rank != root;
    case Holders::kAllButFirst:
      return rank != 0;
    case Holders::kAll:
      return true;
  }
  return false;
}

inline constexpr BufferKind SendBuffer(Collective c, uint32_t rank, uint32_t root) {
  return Holds(TraitsOf(c).senders, rank, root) ? TraitsOf(c).send : BufferKind::kNone;
}
inline constexpr BufferKind ReceiveBuffer(Collective c, uint32_t rank, uint32_t root) {
  return Holds(TraitsOf(c).receivers, rank, root) ? TraitsOf(c).receive : BufferKind::kNone;
}

enum CallOptions : uint8_t {
  // gatherv, scatterv: every rank passes all counts (papers: gatherv, "aggressive"), so the root need not send them.
  kCountsKnown = 1,
  // Reductions: results are bit-identical for any plan, size class and placement of ranks.
  kReproducible = 2,
  // alltoallv: no node's ranks send more than `count` elements to another node's ranks, or among themselves. So all
  // nodes know the length of the call, and none waits for the others' lengths.
  kPairsBounded = 4,
};
// Returns the options that have a meaning for the collective.
inline constexpr uint8_t OptionsOf(Collective c) {
  if (Reduces(c)) return kReproducible;
  if (HasPairSizes(c)) return kPairsBounded;
  return IsIrregular(c) && HasRoot(c) ? kCountsKnown : 0;
}
// Limits `count` with kPairsBounded, in bytes. Chunks are made up to `count`, whether there is data or not, so a client
// with a larger one would keep its daemon busy for nothing.
inline constexpr uint64_t kPairBoundMax = uint64_t{1} << 30;

// Return whether a rank passes the list of all blocks of the send (receive) side of an irregular collective: because
// its buffer has them, or because every rank must know the sizes (kCountsKnown).
inline constexpr bool GivesSendBlocks(Collective c, uint8_t options, uint32_t rank, uint32_t root) {
  const CollectiveTraits& traits = TraitsOf(c);
  return IsIrregular(c) && traits.send == BufferKind::kBlocks &&
         (Holds(traits.senders, rank, root) || (options & kCountsKnown) != 0);
}
inline constexpr bool GivesReceiveBlocks(Collective c, uint8_t options, uint32_t rank, uint32_t root) {
  const CollectiveTraits& traits = TraitsOf(c);
  return IsIrregular(c) && traits.receive == BufferKind::kBlocks &&
         (Holds(traits.receivers, rank, root) || (options & kCountsKnown) != 0);
}
// Returns whether every rank passes the sizes of all blocks, equal on all ranks. Returns false for regular collectives.
inline constexpr bool KnowsCounts(Collective c, uint8_t options) {
  return IsIrregular(c) && !HasPairSizes(c) && (!HasRoot(c) || (options & kCountsKnown) != 0);
}
// Returns whether all ranks know all sizes without an option (allgatherv, reduce_scatterv), so that the count of
// CallArguments is the sum over all blocks.
inline constexpr bool CountsAllBlocks(Collective c) { return KnowsCounts(c, 0); }

}  // namespace copse

#endif  // COPSE_COLLECTIVES_COLLECTIVE_H_
