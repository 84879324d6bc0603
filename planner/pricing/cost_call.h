// SPDX-License-Identifier: Apache-2.0
//
// Tracks the state of a call in the cost model: each node's primitives, and how far they have run. No time enters here.
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

// A CostCall tracks a call whose segments run concurrently. Segments of block collectives are in chunks: a node runs
// kTeamWindow chunks at once, and sends nothing to another node for a chunk beyond that node's window.
class CostCall {
 public:
  // A Deferred result is ready before the daemon has taken its rank's post.
  struct Deferred {
    uint32_t local, segment;
    bool data;  // false: a notification alone
  };
  // Node is the state of the call at one node.
  struct Node {
    std::vector<CostProgram> programs;  // by rotation; for blocks by segment
    bool started = false;
    std::vector<bool> here;  // by local index: true once the daemon has taken the rank's post
    uint32_t here_count = 0;
    std::vector<Deferred> deferred;
    std::vector<uint32_t> pending;        // count that each Wait of each segment still awaits
    std::vector<uint32_t> pending_begin;  // by segment
    std::vector<uint32_t> op;             // [segment]: next primitive
    std::vector<uint32_t> wait;           // [segment]: next Wait
    uint32_t chunks_started = 0;
    uint32_t chunks_finished = 0;                        // all chunks below this number are finished
    std::vector<uint32_t> segments_left;                 // by chunk
    std::vector<std::pair<uint32_t, uint32_t>> blocked;  // (peer, segment that waits for this peer's credit)
    std::vector<uint32_t> uncredited;                    // nodes that wait for this node's credit

    const CostProgram& ProgramOf(uint32_t segment) const { return programs[segment % programs.size()]; }
    uint32_t& Pending(uint32_t segment, uint32_t wait_index) { return pending[pending_begin[segment] + wait_index]; }
  };

  // `blocks` is null for the common collectives. Errors: INVALID_ARGUMENT for more than kBlockSegmentsMax segments of
  // blocks; those of schedule::Expand and BlockProgram::SequencesOf.
  static absl::StatusOr<CostCall> Create(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                                         const CallArguments& arguments, const schedule::BlockProgram* blocks);

  bool has_blocks() const { return has_blocks_; }
  uint32_t segment_count() const { return segment_count_; }
  Node& node(uint32_t v) { return nodes_[v]; }
  // Returns a segment's bytes. It is for the common collectives only.
  uint64_t BytesOf(uint32_t segment) const { return segments_[segment].bytes; }
  uint64_t BytesOf(const CostProgram::Op& op, uint32_t segment) const {
    if (op.bytes != CostProgram::kWholeSegment) return op.bytes;
    return has_blocks_ ? 0 : BytesOf(segment);
  }
  // Returns whether the node has armed the segment.
  bool HasStarted(uint32_t node, uint32_t segment) const {
    return nodes_[node].started && (!has_blocks_ || chunk_of_[segment] < nodes_[node].chunks_started);
  }
  // Returns FAILED_PRECONDITION if a node's sequence is not at its end.
  absl::Status CheckFinished() const;

  // --- Collectives of blocks ---
  struct Segments {
    uint32_t begin, end;
  };
  // Starts the node's next chunk and returns its segments, or nullopt if the window is full or no chunk is left.
  std::optional<Segments> StartChunk(uint32_t node);
  // Ends the segment's sequence at the node. Returns whether the node's window has moved; then the nodes that wait for
  // its credit are appended to `*told`.
  bool EndSegment(uint32_t node, uint32_t segment, std::vector<uint32_t>* told);
  // Returns whether the peer's window includes the segment's chunk. If not, the segment is added to the node's
  // `blocked` and the node to the peer's `uncredited`.
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
  std::vector<schedule::Segment> segments_;  // for the common collectives
  // The following members are for block collectives.
  std::vector<uint32_t> chunk_of_;     // by segment
  std::vector<uint32_t> chunk_begin_;  // by chunk: its first segment; at the end, the number of segments
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_CALL_H_
