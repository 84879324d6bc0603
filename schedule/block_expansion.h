// SPDX-License-Identifier: Apache-2.0
//
// Has the base classes of the expansions of block collectives (blocks.h). expand_block_*.cc derive those for trees,
// cycles, scans and pairs, folds.cc that for ordered reductions.
#ifndef COPSE_SCHEDULE_BLOCK_EXPANSION_H_
#define COPSE_SCHEDULE_BLOCK_EXPANSION_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "schedule/blocks.h"
#include "schedule/sequence_builder.h"

namespace copse::schedule {

// A RunList is a list of copies that merges ranges which are adjacent in both buffers into one run: the message chains
// of the gatherv paper.
class RunList {
 public:
  void Add(Buffer from, Buffer to, uint64_t bytes);
  bool empty() const { return runs_.empty(); }
  std::vector<BufferRun> Take() { return std::exchange(runs_, {}); }
  const std::vector<BufferRun>& runs() const { return runs_; }

 private:
  static constexpr uint64_t kRunBytesMax = 64 * 1024;
  static bool Follows(const Buffer& a, const Buffer& b, uint64_t bytes) {
    return a.place == b.place && a.index == b.index && a.offset + bytes == b.offset;
  }
  std::vector<BufferRun> runs_;
};

// A NodeExpansion writes one node's sequence in one call to `out_`. `call` must outlive it.
class NodeExpansion {
 protected:
  explicit NodeExpansion(const BlockCall& call)
      : call_(call),
        plan_(*call.plan),
        sizes_(*call.sizes),
        order_(sizes_.order()),
        shape_(sizes_.shape()),
        node_(call.node.value()),
        own_ranks_(shape_.RanksOf(call.node)),
        n_(plan_.node_count),
        position_(order_.PositionOf(node_)),
        out_(plan_, call.node) {}

  // Return the node that follows (precedes) this one by `distance` <= n_ positions.
  uint32_t At(uint32_t distance) const { return order_.NodeAt((position_ + distance) % n_); }
  uint32_t Before(uint32_t distance) const { return order_.NodeAt((position_ + n_ - distance) % n_); }
  bool IsHere(uint32_t rank) const { return shape_.NodeOf(Rank(rank)).value() == node_; }
  bool inclusive() const { return call_.collective == Collective::kScan; }
  NodeSequence End() {
    for (uint32_t l = 0; l < own_ranks_.size(); ++l) out_.Release(l);
    return out_.End();
  }

  const BlockCall& call_;
  const Plan& plan_;
  const BlockSizes& sizes_;
  const PackedOrder& order_;
  const ShapeIndex& shape_;
  const uint32_t node_;
  const absl::Span<const Rank> own_ranks_;
  const uint32_t n_;
  const uint32_t position_;
  SequenceBuilder out_;
};

// A BlockExpansion writes one node's sequence for one segment. It finds the places of blocks, and has the steps that
// several collectives share.
class BlockExpansion : protected NodeExpansion {
 public:
  BlockExpansion(const BlockCall& call, const Slice& slice) : NodeExpansion(call), slice_(slice) {}

 protected:
  // An Interval is the positions [begin, begin + count) of the packed order, modulo the number of nodes.
  struct Interval {
    uint32_t begin = 0;
    uint32_t count = 0;
  };
  // A BlockRange is the bytes of a rank's block that lie in the slice.
  struct BlockRange {
    uint32_t rank = 0;
    uint64_t offset = 0;  // into the block
    uint64_t bytes = 0;
  };

  // --- Intervals of packed blocks, clipped to the slice ---

  uint64_t Clip(uint64_t at) const { return std::clamp(at, slice_.begin, slice_.end) - slice_.begin; }
  uint64_t Bytes(const Interval& interval) const;
  uint32_t SliceBytes() const { return static_cast<uint32_t>(slice_.bytes()); }
  // Calls f(range) for each block's range in packed bytes [begin, end), or in the interval's part of the slice, in
  // packed order.
  template <typename F>
  void ForEachRange(uint64_t begin, uint64_t end, F f) const;
  template <typename F>
  void ForEachRange(const Interval& interval, F f) const;
  // Calls f(offset from `at`, bytes) for the range of [at, at + bytes) that is in the slice, unless it is empty.
  template <typename F>
  void InSlice(uint64_t at, uint64_t bytes, F f) const;

  // --- Ranks' buffers ---

  Buffer Sends(uint32_t local, uint64_t offset) const { return {Place::kRankSend, local, offset}; }
  // Return the block to (from) `rank` in local rank `local`'s send (receive) buffer, if that has one block per rank.
  Block BlockTo(uint32_t local, uint32_t rank) const { return BlockIn(call_.ranks[local].send, rank); }
  Block BlockFrom(uint32_t local, uint32_t rank) const { return BlockIn(call_.ranks[local].receive, rank); }
  Buffer PlaceTo(uint32_t local, uint32_t rank, uint64_t offset) const {
    return {Place::kRankSend, local, BlockTo(local, rank).offset + offset};
  }
  Buffer PlaceFrom(uint32_t local, uint32_t rank, uint64_t offset) const {
    return {Place::kRankRecv, local, BlockFrom(local, rank).offset + offset};
  }
  // Returns the local ranks' contributions to a reduction of the slice.
  std::vector<Buffer> OwnOperands() const;

  // --- Steps ---

  void Copy(RunList* runs) { out_.CopyRuns(runs->Take()); }
  void CopySlice(Buffer from, Buffer to) {
    if (slice_.bytes() > 0) out_.CopyRuns({{from, to, slice_.bytes()}});
  }
  // Adds the copies that pack the local ranks' contributions at `to`, in rank order.
  void PackOwn(Buffer to, RunList* runs) const;
  // Adds the copies of the interval's blocks, packed at `from`, to local rank `local`'s receive buffer. The rank's own
  // block is left out if it is in place.
  void Deliver(uint32_t local, const Interval& interval, Buffer from, RunList* runs) const;
  // Copies the interval's blocks, packed at `from`, to all local ranks. `lands`: they are the whole message of one
  // neighbor in phase kDown, and nothing else reads it.
  void DeliverToAll(const Interval& interval, Buffer from, bool lands);
  // Copies the local ranks' blocks of the reduced slice, which begins at `from`, to their receive buffers.
  void DeliverReduced(Buffer from);
  // Returns whether a message of `bytes` bytes is sent; an empty one is only where neighbors meet (kSegmentsApartMax).
  bool Goes(uint64_t bytes) const { return bytes > 0 || slice_.meets; }
  // Sends the data of `*runs`, which pack `bytes` bytes at the start of scratch, if Goes(bytes), and empties the list.
  // A single run is sent from its source, without a copy.
  void SendRuns(uint32_t peer, uint16_t phase, RunList* runs, uint64_t bytes);

  const Slice slice_;
  uint64_t send_base_ = 0;  // offset of the local ranks' contributions in their send buffers

 private:
  Block BlockIn(const BlockList* list, uint32_t rank) const {
    return list != nullptr ? (*list)[rank] : Block{rank * sizes_.Of(rank), sizes_.Of(rank)};
  }
};

// Return the node's sequence for one segment. ExpandOnTree takes gather, scatter, allgather and reduce_scatter,
// ExpandOnCycle the latter two, ExpandScan scan and exscan. Errors: those of ExpandBlocks.
NodeSequence ExpandOnTree(const BlockCall& call, const Slice& slice);
NodeSequence ExpandOnCycle(const BlockCall& call, const Slice& slice);
absl::StatusOr<NodeSequence> ExpandScan(const BlockCall& call, const Slice& slice);
absl::StatusOr<NodeSequence> ExpandAlltoall(const BlockCall& call, const Slice& slice);

// Writes the steps that gather all ranks' contributions, from offset `send_base` in their send buffers, to the plan's
// root node and broadcast them to all nodes. Returns the place of the packed contributions at this node, and the steps.
std::pair<Buffer, SequenceBuilder> GatherEverywhere(const BlockCall& call, const Slice& slice, uint64_t send_base);

template <typename F>
void BlockExpansion::ForEachRange(uint64_t begin, uint64_t end, F f) const {
  if (begin >= end) return;
  // This binary search finds the last position that begins at or before `begin`.
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
      if (from < to) f(BlockRange{r.value(), from - at, to - from});
      at += bytes;
      if (at >= end) return;
    }
  }
}

template <typename F>
void BlockExpansion::ForEachRange(const Interval& interval, F f) const {
  const uint32_t end = interval.begin + interval.count;
  const uint64_t begin = std::max(slice_.begin, sizes_.PackedBegin(interval.begin));
  if (end <= n_) return ForEachRange(begin, std::min(slice_.end, sizes_.PackedBegin(end)), f);
  ForEachRange(begin, slice_.end, f);
  ForEachRange(slice_.begin, std::min(slice_.end, sizes_.PackedBegin(end - n_)), f);
}

template <typename F>
void BlockExpansion::InSlice(uint64_t at, uint64_t bytes, F f) const {
  const uint64_t low = std::max(at, slice_.begin);
  const uint64_t high = std::min(at + bytes, slice_.end);
  if (low < high) f(low - at, high - low);
}

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_BLOCK_EXPANSION_H_
