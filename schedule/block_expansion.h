// SPDX-License-Identifier: Apache-2.0
//
// Expands one node's sequence for one segment of a block collective (blocks.h). expand_blocks.cc has the parts that
// all collectives share; expand_block_*.cc have trees, cycles, pairs and scans.
#ifndef COPSE_SCHEDULE_BLOCK_EXPANSION_H_
#define COPSE_SCHEDULE_BLOCK_EXPANSION_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "schedule/blocks.h"
#include "schedule/sequence_builder.h"

namespace copse::schedule {

// Phases of a message along a tree.
inline constexpr uint16_t kUp = 0;
inline constexpr uint16_t kDown = 1;

// A list of copies that merges ranges adjacent at both ends into one run: the paper's message chains.
class RunList {
 public:
  void Add(Buffer from, Buffer to, uint64_t bytes);
  bool empty() const { return runs_.empty(); }
  std::vector<CopyRun> Take() { return std::exchange(runs_, {}); }
  const std::vector<CopyRun>& runs() const { return runs_; }

 private:
  static constexpr uint64_t kRunBytesMax = 64 * 1024;
  static bool Follows(const Buffer& a, const Buffer& b, uint64_t bytes) {
    return a.place == b.place && a.index == b.index && a.offset + bytes == b.offset;
  }
  std::vector<CopyRun> runs_;
};

// Expands one call at one node for one segment, once. The constructor's arguments must outlive it.
class BlockExpansion {
 public:
  BlockExpansion(const BlockCall& call, const Slice& slice)
      : call_(call),
        plan_(*call.plan),
        sizes_(*call.sizes),
        order_(sizes_.order()),
        shape_(sizes_.shape()),
        slice_(slice),
        node_(call.node.value()),
        own_ranks_(shape_.RanksOf(call.node)),
        n_(plan_.node_count),
        position_(order_.PositionOf(node_)),
        out_(plan_, call.node) {}

  absl::StatusOr<NodeSequence> Run();

 private:
  // Positions [begin, begin + count) of the cycle.
  struct Interval {
    uint32_t begin = 0;
    uint32_t count = 0;
  };
  // The bytes of a rank's block that lie in the slice.
  struct Piece {
    uint32_t rank = 0;
    uint64_t offset = 0;  // into the block
    uint64_t bytes = 0;
  };

  // --- Intervals of packed blocks, clipped to the slice ---

  uint64_t Clip(uint64_t at) const { return std::clamp(at, slice_.begin, slice_.end) - slice_.begin; }
  uint64_t Bytes(const Interval& interval) const;
  // Returns the offset of the bytes that begin at position `begin` in the message of `outer`.
  uint64_t OffsetIn(const Interval& outer, uint32_t begin) const {
    return Bytes({outer.begin, (begin + n_ - outer.begin) % n_});
  }
  // Calls f(piece) for each block fragment in packed bytes [begin, end).
  template <typename F>
  void ForEachPiece(uint64_t begin, uint64_t end, F f) const;
  template <typename F>
  void ForEachPiece(const Interval& interval, F f) const;
  // Returns the interval of the nodes below the link from `node` to `towards`; the whole cycle if that is kNobody.
  Interval Below(uint32_t node, uint32_t towards) const;
  uint32_t SliceBytes() const { return static_cast<uint32_t>(slice_.bytes()); }

  // --- Ranks' buffers ---

  Buffer Sends(uint32_t local, uint64_t offset) const { return {Place::kRankSend, local, offset}; }
  // Returns the place of `piece` in local rank `local`'s buffers, which have one block per rank.
  Buffer SendsTo(uint32_t local, const Piece& piece) const;
  Buffer ReceivesFrom(uint32_t local, const Piece& piece) const;
  std::vector<Buffer> OwnOperands() const;
  bool IsHere(uint32_t rank) const { return shape_.NodeOf(Rank(rank)).value() == node_; }
  // Copies the interval, packed in `from`, to local rank `local`'s receive buffer.
  void Deliver(uint32_t local, const Interval& interval, Buffer from, RunList* runs) const;
  void DeliverToAll(const Interval& interval, Buffer from);
  // Delivers the data that arrived in `phase` to all local ranks. Precondition: nothing else reads it.
  void LandAtAll(const Interval& interval, Buffer from, uint16_t phase);
  // Copies the local ranks' blocks of the reduced slice, which begins at `from`, to their receive buffers.
  void DeliverReduced(Buffer from);
  // Packs the local ranks' contributions to `to`, in rank order.
  void PackOwn(Buffer to, RunList* runs) const;
  // Whether a message of `bytes` bytes is sent at all; an empty one only where neighbors meet (kSegmentsApartMax).
  bool Goes(uint64_t bytes) const { return bytes > 0 || slice_.meets; }
  // Sends the runs' data, if Goes(bytes): from its place if it is contiguous, else packed in scratch.
  void SendRuns(uint32_t peer, uint16_t phase, RunList* runs, uint64_t bytes);

  // --- Trees ---

  struct Link {
    uint32_t node;
    Interval interval;
    uint64_t bytes;
  };
  // Returns the neighbors other than `parent`, each with the interval below it.
  std::vector<Link> ChildrenBut(uint32_t parent) const;
  uint32_t ParentTowards(uint32_t root_node) const { return call_.index->Towards(node_, root_node); }
  uint32_t RootNode() const { return shape_.NodeOf(Rank(call_.root)).value(); }
  void AwaitChildren(const std::vector<Link>& children);
  // Packs the node's blocks and its children's in scratch, in the interval's order.
  void Assemble(const Interval& interval, const std::vector<Link>& children, RunList* runs) const;
  // Gathers to the plan's root node and broadcasts the whole down again. Returns where the slice lies at this node.
  Buffer GatherEverywhere();
  void Gather();
  void Scatter();
  void AllgatherByTree();
  void ReduceScatterByPlan();

  // --- Cycles ---

  uint32_t At(uint32_t distance) const { return order_.NodeAt((position_ + distance) % n_); }
  uint32_t Before(uint32_t distance) const { return order_.NodeAt((position_ + n_ - distance) % n_); }
  Interval Preceding(uint32_t from, uint32_t count) const { return {(from + n_ - count + 1) % n_, count}; }
  void AllgatherByRing();
  void AllgatherByDoubling();
  void ReduceScatterOnCycle();

  // --- Prefixes ---

  // Where the second half of scratch begins: sums lie there, behind all segments of a chunk.
  static constexpr uint64_t kOtherHalf = kScanSegmentsMax * uint64_t{kScanSegmentBytesMax};
  static constexpr uint64_t kThird = 2 * kOtherHalf;
  bool inclusive() const { return call_.collective == Collective::kScan; }
  // Delivers the prefixes to the local ranks. `before` is the sum over all ranks before this node (kNone: there are
  // none); the sum including this node's ranks is left in `running`.
  void DeliverPrefixes(Buffer before, Buffer running);
  void ScanByChain();
  void ScanByDoubling();
  absl::Status ScanByFolding();

  // --- Pairs: all to all ---

  uint64_t BlockTo(uint32_t local, uint32_t rank) const;
  uint64_t BlockFrom(uint32_t local, uint32_t rank) const;
  Buffer PlaceTo(uint32_t local, uint32_t rank, uint64_t offset) const;
  Buffer PlaceFrom(uint32_t local, uint32_t rank, uint64_t offset) const;
  // Calls f(offset in the block, bytes) for the range [from, to) of [at, at + bytes) that is in the slice.
  template <typename F>
  void InSlice(uint64_t at, uint64_t bytes, F f) const;
  // Returns the bytes of the slice from node `from`, and adds their copies from its eager buffer to the ranks, if
  // `runs` is set.
  uint64_t ReceivedFrom(uint32_t from, RunList* runs, uint64_t cell_offset = 0) const {
    return ReceivedFrom(from, runs, Buffer{Place::kCell, from, cell_offset});
  }
  uint64_t ReceivedFrom(uint32_t from, RunList* runs, Buffer lies) const;
  // Packs the local ranks' data for node `to`, within the slice, into `target`. Returns its bytes.
  uint64_t PackFor(uint32_t to, Buffer target, RunList* runs) const;
  // Adds the copies among the local ranks, within the slice.
  void CopyLocally(RunList* runs) const;
  // Returns the bytes of the slice from one position to another, for equal blocks.
  uint64_t StreamBytes(uint32_t from, uint32_t to) const;
  void AlltoallByPairs();
  void AlltoallByDoubling();

  const BlockCall& call_;
  const Plan& plan_;
  const BlockSizes& sizes_;
  const PackedOrder& order_;
  const ShapeIndex& shape_;
  const Slice slice_;
  const uint32_t node_;
  const absl::Span<const Rank> own_ranks_;
  const uint32_t n_;
  const uint32_t position_;
  uint64_t send_base_ = 0;
  SequenceBuilder out_;
};

template <typename F>
void BlockExpansion::ForEachPiece(uint64_t begin, uint64_t end, F f) const {
  if (begin >= end) return;
  // Binary search for the last position that begins at or before `begin`.
  uint32_t low = 0;
  uint32_t high = n_;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (sizes_.PackedBegin(middle) <= begin ? low : high) = middle;
  }
  for (uint32_t p = low; p < n_ && sizes_.PackedBegin(p) < end; ++p) {
    uint64_t at = sizes_.PackedBegin(p);
    for (const Rank r : shape_.RanksOf(NodeIndex(order_.NodeAt(p)))) {
      const uint64_t bytes = sizes_.Of(r.value());
      const uint64_t from = std::max(at, begin);
      const uint64_t to = std::min(at + bytes, end);
      if (from < to) f(Piece{r.value(), from - at, to - from});
      at += bytes;
      if (at >= end) return;
    }
  }
}

template <typename F>
void BlockExpansion::ForEachPiece(const Interval& interval, F f) const {
  const uint32_t end = interval.begin + interval.count;
  const uint64_t begin = std::max(slice_.begin, sizes_.PackedBegin(interval.begin));
  if (end <= n_) return ForEachPiece(begin, std::min(slice_.end, sizes_.PackedBegin(end)), f);
  ForEachPiece(begin, slice_.end, f);
  ForEachPiece(slice_.begin, std::min(slice_.end, sizes_.PackedBegin(end - n_)), f);
}

template <typename F>
void BlockExpansion::InSlice(uint64_t at, uint64_t bytes, F f) const {
  const uint64_t low = std::max(at, slice_.begin);
  const uint64_t high = std::min(at + bytes, slice_.end);
  if (low < high) f(low - at, high - low);
}

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_BLOCK_EXPANSION_H_
