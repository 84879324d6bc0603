// SPDX-License-Identifier: Apache-2.0
//
// Tracks the state of a call in the cost model: each node's primitives, and how far they have run. No time enters here.
#ifndef COPSE_PLANNER_PRICING_COST_CALL_H_
#define COPSE_PLANNER_PRICING_COST_CALL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/chunk_windows.h"
#include "planner/pricing/cost_program.h"
#include "schedule/block_program.h"
#include "schedule/plan.h"

namespace copse::planner {

// A CostCall tracks a call whose segments run concurrently. Those of block collectives are in chunks (ChunkWindows).
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

    const CostProgram& ProgramOf(uint32_t segment) const { return programs[segment % programs.size()]; }
    uint32_t& Pending(uint32_t segment, uint32_t wait_index) { return pending[pending_begin[segment] + wait_index]; }
  };

  // `blocks` is null for the common collectives. Errors: INVALID_ARGUMENT for more than kBlockSegmentsMax segments of
  // blocks; those of schedule::Expand and BlockProgram::SequencesOf.
  static absl::StatusOr<CostCall> Create(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                                         const CallArguments& arguments, const schedule::BlockProgram* blocks);

  // Returns the windows of a block collective; null for the common ones.
  ChunkWindows* windows() { return windows_.has_value() ? &*windows_ : nullptr; }
  uint32_t segment_count() const { return segment_count_; }
  Node& node(uint32_t v) { return nodes_[v]; }
  // Returns a segment's bytes. It is for the common collectives only.
  uint64_t BytesOf(uint32_t segment) const { return segments_[segment].bytes; }
  uint64_t BytesOf(const CostProgram::Op& op, uint32_t segment) const {
    if (op.bytes != CostProgram::kWholeSegment) return op.bytes;
    return windows_.has_value() ? 0 : BytesOf(segment);
  }
  // Returns whether the node has armed the segment.
  bool HasStarted(uint32_t node, uint32_t segment) const {
    return nodes_[node].started && (!windows_.has_value() || windows_->HasStarted(node, segment));
  }
  // Returns FAILED_PRECONDITION if a node's sequence is not at its end.
  absl::Status CheckFinished() const;

 private:
  CostCall() = default;
  absl::Status CompileBlocks(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                             const schedule::BlockProgram& blocks);
  absl::Status CompileSegments(const schedule::Plan& plan, const schedule::ShapeIndex& shape,
                               const CallArguments& arguments);

  uint32_t segment_count_ = 0;
  std::vector<Node> nodes_;
  std::vector<schedule::Segment> segments_;  // for the common collectives
  std::optional<ChunkWindows> windows_;      // for block collectives
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_CALL_H_
