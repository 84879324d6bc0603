// SPDX-License-Identifier: Apache-2.0
//
// A call that the cost model runs: what each node has to do in it, and how far it is. No time enters here.
#ifndef COPSE_PLANNER_PRICING_COST_CALL_H_
#define COPSE_PLANNER_PRICING_COST_CALL_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/cost_program.h"
#include "schedule/block_program.h"
#include "schedule/plan.h"

namespace copse::planner {

// A call's segments run side by side. Those of block collectives are in chunks, of which a node has a window under way
// at once, and sends nothing to another for a chunk beyond that one's window.
class CostCall {
 public:
  // A result that is there before its rank.
  struct Deferred {
    uint32_t local, segment;
    bool data;
  };
  struct Node {
    std::vector<CostProgram> programs;  // one a rotation, or, of blocks, one a segment
    bool started = false;
    std::vector<bool> here;  // local ranks that have arrived
    uint32_t here_count = 0;
    std::vector<Deferred> deferred;
    std::vector<uint32_t> pending;        // what each Wait of each segment still awaits
    std::vector<uint32_t> pending_begin;  // by segment
    std::vector<uint32_t> op;             // [segment]: next primitive
    std::vector<uint32_t> wait;           // [segment]: next Wait
    uint32_t chunks_started = 0;
    uint32_t chunks_finished = 0;                        // all below
    std::vector<uint32_t> segments_left;                 // by chunk
    std::vector<std::pair<uint32_t, uint32_t>> blocked;  // (peer, segment) that wait for the peer's credit
    std::vector<uint32_t> uncredited;                    // nodes that wait for ours

    const CostProgram& ProgramOf(uint32_t segment) const { return programs[segment % programs.size()]; }
    uint32_t& Pending(uint32_t segment, uint32_t wait_index) { return pending[pending_begin[segment] + wait_index]; }
  };

  // `blocks`: null of the common collectives. INVALID_ARGUMENT beyond kBlockSegmentsMax, and as schedule::Expand.
  static absl::StatusOr<CostCall> Create(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                                         const CallArguments& arguments, const schedule::BlockProgram* blocks);

  bool has_blocks() const { return has_blocks_; }
  uint32_t segment_count() const { return segment_count_; }
  Node& node(uint32_t v) { return nodes_[v]; }
  // Of the common collectives.
  uint64_t BytesOf(uint32_t segment) const { return segments_[segment].bytes; }
  uint64_t BytesOf(const CostProgram::Op& op, uint32_t segment) const {
    if (op.bytes != CostProgram::kWholeSegment) return op.bytes;
    return has_blocks_ ? 0 : BytesOf(segment);
  }
  // Whether the node has armed the segment.
  bool HasStarted(uint32_t node, uint32_t segment) const {
    return nodes_[node].started && (!has_blocks_ || chunk_of_[segment] < nodes_[node].chunks_started);
  }
  // FAILED_PRECONDITION if a node's sequence is not at its end.
  absl::Status CheckFinished() const;

  // --- Of blocks ---
  struct Segments {
    uint32_t begin, end;
  };
  // The next chunk that the node's window has room for is started: its segments.
  std::optional<Segments> StartChunk(uint32_t node);
  // The node is at the end of the segment's sequence. True if its window has moved; `*told` gets the nodes that waited.
  bool EndSegment(uint32_t node, uint32_t segment, std::vector<uint32_t>* told);
  // False: the peer has no room for the segment's chunk yet; it will tell, and `node` will go on with the segment.
  bool HasCredit(uint32_t node, uint32_t peer, uint32_t segment);

 private:
  CostCall() = default;
  absl::Status CompileBlocks(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                             const schedule::BlockProgram& blocks);
  absl::Status CompileSegments(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                               const CallArguments& arguments);

  bool has_blocks_ = false;
  uint32_t segment_count_ = 0;
  std::vector<Node> nodes_;
  std::vector<schedule::Segment> segments_;  // of the common collectives
  // Of blocks.
  std::vector<uint32_t> chunk_of_;     // by segment
  std::vector<uint32_t> chunk_begin_;  // first segment of each chunk, and their number
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_CALL_H_
