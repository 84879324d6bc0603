// SPDX-License-Identifier: Apache-2.0
//
// Block collectives: those in which ranks' data lies side by side (HasBlocks). How their messages
// are cut, and what one node does for one piece.
#ifndef COPSE_SCHEDULE_BLOCKS_H_
#define COPSE_SCHEDULE_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "schedule/expand.h"
#include "schedule/plan.h"

namespace copse::schedule {

// The order in which a plan's nodes lie in packed messages: a tree's preorder from its root node, so that what is below
// a link is an interval of the cycle of positions for whatever root the tree is directed to; or the plan's cycle. Ranks
// of a node are ascending. O(nodes).
class PackedOrder {
 public:
  PackedOrder(const ShapeIndex& shape, const Plan& plan, const TreeIndex& index);

  uint32_t node_count() const { return static_cast<uint32_t>(node_at_.size()); }
  uint32_t NodeAt(uint32_t position) const { return node_at_[position]; }
  uint32_t PositionOf(uint32_t node) const { return position_[node]; }
  // Ranks of the nodes below `position`, which may be node_count().
  uint32_t RanksBefore(uint32_t position) const { return ranks_before_[position]; }

 private:
  std::vector<uint32_t> node_at_;
  std::vector<uint32_t> position_;
  std::vector<uint32_t> ranks_before_;
};

// How long each rank's block is, and where it begins if all are put one after another: packed, or by rank. Equal blocks
// cost nothing, others O(ranks). `*order` and `*shape` outlive it.
class BlockSizes {
 public:
  BlockSizes(const PackedOrder* order, const ShapeIndex* shape, uint64_t each);
  BlockSizes(const PackedOrder* order, const ShapeIndex* shape, absl::Span<const uint64_t> by_rank);

  uint64_t total() const { return PackedBegin(order_->node_count()); }
  uint64_t Of(uint32_t rank) const { return by_rank_.empty() ? each_ : by_rank_[rank]; }
  // Of all blocks of the nodes below `position`.
  uint64_t PackedBegin(uint32_t position) const {
    return by_rank_.empty() ? order_->RanksBefore(position) * each_ : packed_begin_[position];
  }
  uint64_t RankBegin(uint32_t rank) const { return by_rank_.empty() ? rank * each_ : rank_begin_[rank]; }
  const PackedOrder& order() const { return *order_; }
  const ShapeIndex& shape() const { return *shape_; }

 private:
  const PackedOrder* order_;
  const ShapeIndex* shape_;
  uint64_t each_ = 0;
  std::vector<uint64_t> by_rank_;       // empty: all are each_
  std::vector<uint64_t> packed_begin_;  // by position, and the total
  std::vector<uint64_t> rank_begin_;    // by rank, and the total
};

// One piece of a call: bytes [begin, end) of what is cut (Cutting says of what).
struct Slice {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool meets = false;  // MeetIn
  uint64_t bytes() const { return end - begin; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// Nodes that have nothing for each other in a segment do not hear of each other, so one with little data would be
// through with a long call long before the others, and ahead of them by more calls of the port than their numbers tell
// apart (emu::NearestCall). So neighbours in the plan of a gather, scatter or alltoall(v) meet now and then: in such a
// segment each of their messages goes, though it may be empty. 32 nodes one behind the other stay within what is told
// apart.
inline constexpr uint64_t kSegmentsApartMax = 1024;
inline bool MeetIn(uint64_t segment) { return segment % kSegmentsApartMax == kSegmentsApartMax - 1; }

// How a call is cut into segments, the same on all nodes:
//  - gather, scatter, allgather: the blocks, packed;
//  - reduce_scatter: the blocks by rank;
//  - both along a cycle on which each segment has an owner: no segment has blocks of two nodes, and owners take turns,
//    since the link into an owner (or from one) has nothing to carry;
//  - scan, exscan: the message; where ranks' order is not the nodes' (FoldsAll), so finely that all ranks' fit a
//  segment;
//  - alltoall: for each pair of nodes, and of a node with itself, all that goes from the one to the other;
//    `pair_bytes_max`: of any of them. Where nodes pass it on, so finely that what a node sends in a round fits a
//    segment.
class Cutting {
 public:
  Cutting(const Plan& plan, const BlockSizes& sizes, uint64_t message_bytes, uint64_t pair_bytes_max);

  uint64_t segment_count() const { return count_; }  // at least 1
  Slice At(uint64_t segment) const;

 private:
  uint64_t step_ = 0;
  uint64_t total_ = 0;
  uint64_t count_ = 1;
  bool may_meet_ = false;  // others hear of each other in every segment
  // Of parts with owners.
  struct Stage {
    uint64_t first_segment;
    uint64_t first_round;
    size_t parts;  // that have segments in these rounds: the first of by_length_
  };
  std::vector<uint64_t> part_begin_;  // where parts begin, and the total
  std::vector<uint32_t> by_length_;   // parts, the longest first
  std::vector<Stage> stages_;         // until some part has no more segments
  uint64_t data_segments_ = 0;
};

// Segments of one chunk: what one call of the port carries. A scan's chunk is shorter, since its sums need as much
// scratch again, twice: kScanScratchBytes in all.
inline constexpr uint32_t kScanSegmentsMax = 2;
inline constexpr uint64_t kScanScratchBytes = 3 * kScanSegmentsMax * uint64_t{kScanSegmentBytesMax};
uint32_t SegmentsPerChunk(const Plan& plan);
// Bytes of its segments; never 0.
uint32_t BlockSegmentBytes(const Plan& plan);
// Whether scan and exscan gather all contributions and combine them at every node, since the plan is a tree.
inline bool FoldsAll(const Plan& plan) { return plan.kind == PlanKind::kTree && IsScan(plan.collective); }
// The longest stream of one node to another, or to itself, in an alltoall of equal blocks.
uint64_t PairBytesMax(const ShapeIndex& shape, uint64_t block_bytes);

// Where one rank's blocks lie in its buffers. Null lists: equal blocks by rank.
struct RankBuffers {
  const BlockList* send = nullptr;
  const BlockList* receive = nullptr;
  bool sends = true;     // false: in place, its own block is where it shall be
  bool receives = true;  // likewise
};

// One call at one node.
struct BlockCall {
  const Plan* plan = nullptr;
  const TreeIndex* index = nullptr;
  const BlockSizes* sizes = nullptr;  // of gather, scatter, allgather, reduce_scatter; its order and shape serve all
  NodeIndex node{0};
  Collective collective = Collective::kGather;  // a regular one (PlanCollective)
  uint32_t root = 0;
  uint64_t block_bytes = 0;             // alltoall of equal blocks
  absl::Span<const RankBuffers> ranks;  // by local index
  // alltoallv: the first segment of each pair's stream begins with a PairNote; notes of the receivers lie in the node's
  // notes by position, those of the senders behind them.
  bool has_notes = false;
};
struct PairNote {
  uint64_t bytes = 0;        // of the pair's stream, without the note
  uint64_t counts_hash = 0;  // HashCounts of its blocks
  uint64_t bytes_max = 0;    // of any stream of the sender, that to itself among them
};

// The sequence for one segment; begins when all ranks of the node have posted. Operands are combined in order of ranks
// (scan, exscan) or of the plan, as in expand.h.
// Errors: UNIMPLEMENTED if a scan folds more ranks than a segment holds. Precondition: the plan was verified.
// Cost:    O(neighbours + blocks in the segment); for alltoall the local ranks times all ranks.
//          An alltoall that is passed on: log(nodes) times nodes.
// Source:  papers, gatherv (its tree, staging and message chains); J. Bruck et al., "Efficient algorithms for
// all-to-all
//          communications in multiport message-passing systems", IEEE TPDS 8 (1997), for the doubling allgather and
//          alltoall; Hillis
//          and Steele, "Data parallel algorithms", CACM 29 (1986), for the doubling scan. Differs: nodes with several
//          ranks, blocks of several sizes, segments.
absl::StatusOr<NodeSequence> ExpandBlocks(const BlockCall& call, const Slice& slice);

// The same for telling the root's notes to all nodes, down the tree: bytes `slice` of them.
NodeSequence ExpandNotes(const Plan& plan, const TreeIndex& index, NodeIndex node, uint32_t root_node,
                         uint32_t local_ranks, const Slice& slice);

// What the node at `position` tells the one at `to` in an alltoallv, by the lists of its ranks.
PairNote NoteOf(const BlockCall& call, uint32_t to);
// What the one at `from` must have told it: bytes and counts_hash, by the lists of its ranks.
PairNote NoteExpected(const BlockCall& call, uint32_t from);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_BLOCKS_H_
