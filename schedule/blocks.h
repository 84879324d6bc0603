// SPDX-License-Identifier: Apache-2.0
//
// Block collectives: those in which ranks' data lies side by side (HasBlocks). This file cuts their messages into
// segments and expands one node's sequence for one segment.
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

// The order in which a plan's nodes lie in packed messages: a tree's preorder from its root node, so that the nodes
// below a link are an interval of the cycle of positions for whatever root the tree is directed to; or the plan's
// cycle. Ranks of a node are ascending. O(nodes).
class PackedOrder {
 public:
  PackedOrder(const ShapeIndex& shape, const Plan& plan, const TreeIndex& index);

  uint32_t node_count() const { return static_cast<uint32_t>(node_at_.size()); }
  uint32_t NodeAt(uint32_t position) const { return node_at_[position]; }
  uint32_t PositionOf(uint32_t node) const { return position_[node]; }
  // Number of ranks on the nodes below `position`, which may be node_count().
  uint32_t RanksBefore(uint32_t position) const { return ranks_before_[position]; }

 private:
  std::vector<uint32_t> node_at_;
  std::vector<uint32_t> position_;
  std::vector<uint32_t> ranks_before_;
};

// The length of each rank's block, and its beginning when all are put back to back: packed, or by rank. Equal blocks
// cost nothing, others O(ranks). `*order` and `*shape` must outlive it.
class BlockSizes {
 public:
  BlockSizes(const PackedOrder* order, const ShapeIndex* shape, uint64_t each);
  BlockSizes(const PackedOrder* order, const ShapeIndex* shape, absl::Span<const uint64_t> by_rank);

  uint64_t total() const { return PackedBegin(order_->node_count()); }
  uint64_t Of(uint32_t rank) const { return by_rank_.empty() ? each_ : by_rank_[rank]; }
  // Returns the packed bytes of all nodes below `position`.
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

// One fragment of a call: bytes [begin, end) of the byte sequence that Cutting cuts.
struct Slice {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool meets = false;  // MeetIn
  uint64_t bytes() const { return end - begin; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// Nodes that exchange no data in a segment exchange no message either, so a node with little data would finish a long
// call long before the others, and be ahead of them by more calls of the port than their numbers can distinguish
// (emu::NearestCall). So neighbors in the plan of a gather, scatter or alltoall(v) meet now and then: in such a
// segment each of their messages is sent even if it is empty. A chain of 32 nodes stays within the distance that call
// numbers distinguish.
inline constexpr uint64_t kSegmentsApartMax = 1024;
inline bool MeetIn(uint64_t segment) { return segment % kSegmentsApartMax == kSegmentsApartMax - 1; }

// How a call is cut into segments, the same on all nodes:
//  - gather, scatter, allgather: the blocks, packed;
//  - reduce_scatter: the blocks by rank;
//  - both along a cycle on which each segment has an owner: no segment has blocks of two nodes, and owners take turns,
// since the link into an owner (or out of one) would be idle;
// scan, exscan: the message; where ranks' order is not the nodes' (FoldsAll), so finely that all ranks' slices fit a
// segment;
// alltoall: the stream of each pair of nodes, and of a node with itself; `pair_bytes_max` is the longest. Where nodes
// pass streams on, so finely that a node's message of a round fits a segment.
class Cutting {
 public:
  Cutting(const Plan& plan, const BlockSizes& sizes, uint64_t message_bytes, uint64_t pair_bytes_max);

  uint64_t segment_count() const { return count_; }  // at least 1
  Slice At(uint64_t segment) const;

 private:
  uint64_t step_ = 0;
  uint64_t total_ = 0;
  uint64_t count_ = 1;
  bool may_meet_ = false;  // nodes exchange messages in every segment
  // A stretch of rounds with the same number of parts.
  struct Stage {
    uint64_t first_segment;
    uint64_t first_round;
    size_t parts;  // number of parts, the first of by_length_, that have segments in these rounds
  };
  std::vector<uint64_t> part_begin_;  // where parts begin, and the total
  std::vector<uint32_t> by_length_;   // parts, the longest first
  std::vector<Stage> stages_;         // each lasts until some part has no more segments
  uint64_t data_segments_ = 0;
};

// Segments of one chunk, the data of one call of the port. A scan's chunk is shorter, since its sums need as much
// scratch again, twice: kScanScratchBytes in all.
inline constexpr uint32_t kScanSegmentsMax = 2;
inline constexpr uint64_t kScanScratchBytes = 3 * kScanSegmentsMax * uint64_t{kScanSegmentBytesMax};
uint32_t SegmentsPerChunk(const Plan& plan);
// Bytes of the plan's segments; never 0.
uint32_t BlockSegmentBytes(const Plan& plan);
// Whether scan and exscan gather all contributions and reduce them at every node, since the plan is a tree.
inline bool FoldsAll(const Plan& plan) { return plan.kind == PlanKind::kTree && IsScan(plan.collective); }
// Bytes of the longest stream from one node to another, or to itself, in an alltoall of equal blocks.
uint64_t PairBytesMax(const ShapeIndex& shape, uint64_t block_bytes);

// The layout of one rank's blocks in its buffers. Null lists: equal blocks by rank.
struct RankBuffers {
  const BlockList* send = nullptr;
  const BlockList* receive = nullptr;
  bool sends = true;     // false: in place, its own block is already in the receive buffer
  bool receives = true;  // false: in place, its own block stays in the send buffer
};

// The arguments of one call at one node.
struct BlockCall {
  const Plan* plan = nullptr;
  const TreeIndex* index = nullptr;
  const BlockSizes* sizes = nullptr;  // of all blocks but those in lists; its order and shape
  NodeIndex node{0};
  Collective collective = Collective::kGather;  // a regular one (PlanCollective)
  uint32_t root = 0;
  absl::Span<const RankBuffers> ranks;  // by local index
  // alltoallv: the first segment of each pair's stream begins with a PairNote. The node's metadata holds the notes
  // for the receivers by position, then those from the senders.
  bool has_notes = false;
};
struct PairNote {
  uint64_t bytes = 0;        // the pair's stream, without the note
  uint64_t counts_hash = 0;  // HashCounts of the pair's blocks
  uint64_t bytes_max = 0;    // the sender's longest stream, the one to itself included
};

// Returns the sequence for one segment; it begins when all ranks of the node have posted. Operands are combined in
// order of ranks (scan, exscan) or of the plan, by the rules of expand.h.
// Errors: UNIMPLEMENTED if a scan reduces the contributions of more ranks than a segment holds. Precondition: the
// plan was verified.
//
// Cost:    O(neighbors + blocks in the segment); for alltoall the local ranks times all ranks.
//          An alltoall that nodes pass on: log(nodes) times nodes.
// Source:  papers, gatherv (its tree, staging and message chains); J. Bruck et al., "Efficient algorithms for
// all-to-all
//          communications in multiport message-passing systems", IEEE TPDS 8 (1997), for the doubling allgather and
//          alltoall; Hillis and Steele, "Data parallel algorithms", CACM 29 (1986), for the doubling scan.
//          Differs: nodes with several ranks, blocks of several sizes, segments.
absl::StatusOr<NodeSequence> ExpandBlocks(const BlockCall& call, const Slice& slice);

// Returns the sequence that broadcasts bytes `slice` of the root's metadata down the tree.
NodeSequence ExpandNotes(const Plan& plan, const TreeIndex& index, NodeIndex node, uint32_t root_node,
                         uint32_t local_ranks, const Slice& slice);

// Returns the metadata that this node sends to the node at `to` in an alltoallv, from its ranks' lists.
PairNote NoteOf(const BlockCall& call, uint32_t to);
// Returns the metadata that the node at `from` must have sent: bytes and counts_hash, from this node's ranks' lists.
PairNote NoteExpected(const BlockCall& call, uint32_t from);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_BLOCKS_H_
