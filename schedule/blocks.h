// SPDX-License-Identifier: Apache-2.0
//
// Cuts the messages of block collectives (HasBlocks) into segments, and expands one node's sequence for one segment.
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

// A PackedOrder is the order of nodes' blocks in messages: a tree's preorder from its root node, so that the nodes on
// one side of a link are an interval of positions (modulo the number of nodes) for any root of a call; or the plan's
// cycle. The blocks of a node are in order of ranks. It takes O(nodes) time and memory, and keeps no references.
class PackedOrder {
 public:
  PackedOrder(const ShapeIndex& shape, const Plan& plan, const TreeIndex& index);

  uint32_t node_count() const { return static_cast<uint32_t>(node_at_.size()); }
  uint32_t NodeAt(uint32_t position) const { return node_at_[position]; }
  uint32_t PositionOf(uint32_t node) const { return position_[node]; }
  // Returns the number of ranks on the nodes at positions below `position`, which may be node_count().
  uint32_t RanksBefore(uint32_t position) const { return ranks_before_[position]; }

 private:
  std::vector<uint32_t> node_at_;
  std::vector<uint32_t> position_;
  std::vector<uint32_t> ranks_before_;
};

// BlockSizes has the length of each rank's block in bytes, and its offset if all blocks lie back to back: in packed
// order, or by rank. It takes O(ranks) memory unless all blocks are equal. `*order` and `*shape` must outlive it;
// `by_rank` must have one length per rank (it dies otherwise).
class BlockSizes {
 public:
  BlockSizes(const PackedOrder* order, const ShapeIndex* shape, uint64_t each);
  BlockSizes(const PackedOrder* order, const ShapeIndex* shape, absl::Span<const uint64_t> by_rank);

  uint64_t total() const { return PackedBegin(order_->node_count()); }
  uint64_t Of(uint32_t rank) const { return by_rank_.empty() ? each_ : by_rank_[rank]; }
  // Returns the bytes of the blocks of all nodes at positions below `position`, which may be the number of nodes.
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
  std::vector<uint64_t> by_rank_;       // empty: all blocks have the length each_
  std::vector<uint64_t> packed_begin_;  // by position, and the total
  std::vector<uint64_t> rank_begin_;    // by rank, and the total
};

// A Slice is one segment of a call: bytes [begin, end) of the byte sequence that Cutting cuts.
struct Slice {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool meets = false;  // neighbors exchange messages in this segment even if these are empty (MeetIn)
  uint64_t bytes() const { return end - begin; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// Nodes that have no data for each other in a segment exchange no message, so a node with little data would finish a
// long call long before the others, and be ahead of them by more calls of the port than their numbers can distinguish
// (emu::NearestCall). Therefore neighbors in the plan of a gather, scatter or alltoall(v) meet in every
// kSegmentsApartMax-th segment: all messages of that segment are sent, even empty ones. With this number, the ends of a
// chain of 32 nodes stay within the distance that call numbers distinguish.
inline constexpr uint64_t kSegmentsApartMax = 1024;
inline bool MeetIn(uint64_t segment) { return segment % kSegmentsApartMax == kSegmentsApartMax - 1; }

// A Cutting divides a call into segments of the plan's length, equally on all nodes:
//  - gather, scatter and allgather: all blocks in packed order;
//  - reduce_scatter: all blocks by rank;
//  - allgather on a ring and reduce_scatter on a cycle, where each segment has an owner node: likewise, but no segment
//    has blocks of two nodes, and consecutive segments have different owners as long as several have data left, since
//    the other owners' links would be idle meanwhile;
//  - scan and exscan: the message of `message_bytes`; on a tree (FoldsAll) into shorter segments, so that all ranks'
//    contributions to one fit into a segment of the plan;
//  - alltoall: the stream of each pair of nodes, and of a node with itself; the longest has `pair_bytes_max` bytes. If
//    nodes forward streams (PassesOn), segments are shorter, so that a node's message of a round fits into one of the
//    plan.
// It is immutable, and keeps no references.
class Cutting {
 public:
  Cutting(const Plan& plan, const BlockSizes& sizes, uint64_t message_bytes, uint64_t pair_bytes_max);

  uint64_t segment_count() const { return count_; }  // at least 1
  // Returns the segment's bytes; none beyond the end of the data.
  Slice At(uint64_t segment) const;

 private:
  uint64_t step_ = 0;
  uint64_t total_ = 0;
  uint64_t count_ = 1;
  bool may_meet_ = false;  // neighbors meet in the segments of MeetIn
  // A part is the consecutive bytes of one owner. A round takes one segment of each part that is not yet exhausted, and
  // a Stage is a series of rounds with the same number of parts.
  struct Stage {
    uint64_t first_segment;
    uint64_t first_round;
    size_t parts;  // the first `parts` parts of by_length_ have segments in these rounds
  };
  std::vector<uint64_t> part_begin_;  // start of each part, and the total; empty if segments have no owners
  std::vector<uint32_t> by_length_;   // parts, the longest first
  std::vector<Stage> stages_;         // a stage ends when a part has no more segments
  uint64_t data_segments_ = 0;
};

// Limits the segments in a scan's chunk. It is low, since sums take twice the chunk's length in addition:
// kScanScratchBytes in all.
inline constexpr uint32_t kScanSegmentsMax = 2;
inline constexpr uint64_t kScanScratchBytes = 3 * kScanSegmentsMax * uint64_t{kScanSegmentBytesMax};
// Returns the number of segments in one chunk, which is the data of one call of the port.
uint32_t SegmentsPerChunk(const Plan& plan);
// Returns the length of the plan's segments in bytes; never 0, unlike segment_bytes.
uint32_t BlockSegmentBytes(const Plan& plan);
// Returns the largest number of distances below `nodes` that have one bit in common. It is the number of streams in the
// longest message of a round if nodes forward (PassesOn).
uint32_t PassedOnMax(uint32_t nodes);
// Returns whether the plan is a tree of a scan or exscan: all contributions are gathered and reduced at every node.
inline bool FoldsAll(const Plan& plan) { return plan.kind == PlanKind::kTree && IsScan(plan.collective); }
// Returns the bytes of the longest stream from one node to another, or to itself, in an alltoall of equal blocks.
uint64_t PairBytesMax(const ShapeIndex& shape, uint64_t block_bytes);

// RankBuffers is the layout of one rank's blocks in its buffers. Without a list, blocks are equal and lie by rank, back
// to back.
struct RankBuffers {
  const BlockList* send = nullptr;
  const BlockList* receive = nullptr;
  bool sends = true;     // false: in place, the rank's own block is already in the receive buffer
  bool receives = true;  // false: in place, the rank's own block stays in the send buffer
};

// A BlockCall holds the arguments of one call at one node. All pointers must be set.
struct BlockCall {
  const Plan* plan = nullptr;
  const TreeIndex* index = nullptr;
  const BlockSizes* sizes = nullptr;  // lengths of blocks without a list; it also has the order and the shape
  NodeIndex node{0};
  Collective collective = Collective::kGather;  // a regular one (PlanCollective)
  uint32_t root = 0;
  absl::Span<const RankBuffers> ranks;  // by local index
  // alltoallv: the first segment of each pair's stream begins with a PairNote. The node's metadata holds the notes that
  // it sends, by position of the receiver, and then those that it receives, by position of the sender.
  bool has_notes = false;
};
// A PairNote describes the stream of an alltoallv from one node to another.
struct PairNote {
  uint64_t bytes = 0;        // length of the stream without the note
  uint64_t counts_hash = 0;  // HashCounts of the pair's blocks
  uint64_t bytes_max = 0;    // the sender's longest stream, the one to itself included
};

// Returns the sequence for one segment, which must be started after all ranks of the node have posted. Operands are
// reduced in order of ranks (scan, exscan) or of the plan, by the rules of expand.h.
//
// Errors:  UNIMPLEMENTED if a scan on a tree has more ranks than contributions fit into a segment. INVALID_ARGUMENT for
//          an alltoallv by a plan that forwards (PassesOn), and if the collective has no blocks or is irregular.
//          Precondition: the plan was verified.
// Cost:    O(neighbors + blocks in the segment); alltoall: local ranks times all ranks, and if nodes forward, also
//          nodes times log(nodes).
// Source:  papers, gatherv (its tree, staging and message chains); J. Bruck et al., "Efficient algorithms for
//          all-to-all communications in multiport message-passing systems", IEEE TPDS 8 (1997), for the doubling
//          allgather and alltoall; Hillis and Steele, "Data parallel algorithms", CACM 29 (1986), for the doubling
//          scan. Differs: nodes with several ranks, blocks of several sizes, segments.
absl::StatusOr<NodeSequence> ExpandBlocks(const BlockCall& call, const Slice& slice);

// Returns the node's sequence in the broadcast of bytes `slice` of the root node's metadata. The plan must be a tree.
NodeSequence ExpandNotes(const Plan& plan, const TreeIndex& index, NodeIndex node, uint32_t root_node,
                         uint32_t local_ranks, const Slice& slice);

// Returns the note that this node sends to the node at position `to` in an alltoallv, from its ranks' lists. The caller
// sets bytes_max.
PairNote NoteOf(const BlockCall& call, uint32_t to);
// Returns the bytes and counts_hash that the note of the node at position `from` must have, from this node's ranks'
// lists.
PairNote NoteExpected(const BlockCall& call, uint32_t from);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_BLOCKS_H_
