// SPDX-License-Identifier: Apache-2.0
//
// Reproducible reductions of what rounds: contributions are combined in order of ranks, whatever the plan. They go by
// the plan of alltoall: each node sends what its ranks contribute to a slice of the message to the nodes that combine
// it.
#ifndef COPSE_SCHEDULE_FOLDS_H_
#define COPSE_SCHEDULE_FOLDS_H_

#include <cstdint>
#include <set>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "schedule/blocks.h"
#include "schedule/expand.h"
#include "schedule/plan.h"

namespace copse::schedule {

// Whether the bits of the result would depend on the order of operands, and must not: a sum or product that rounds,
// with kReproducible. Type and operation were checked.
bool FoldsInOrder(const CallArguments& arguments);
// Of which family's calls it is, and whose plans it runs by: FamilyOf and PlanCollective, unless it folds.
Family FamilyOfCall(const CallArguments& arguments);
Collective PlanCollectiveOf(const CallArguments& arguments);

// How a call that folds is cut, and in which order its chunks are run; the same on all nodes.
//
// Directly: every node that has a result to give gets all contributions to a slice and combines them itself. One
// message for each pair of nodes; what comes in is all contributions.
// In parts, for reduce and allreduce beyond one slice: a segment has a slice for each node. In a first chunk each node
// gets the contributions to its own slice and combines them in the notes, in a second one it sends the results to those
// that want them. So nobody gets more than the message and what it has to combine. Two chunks are under way before the
// results of the first one are asked for, and results that are not sent yet take kNoteSlots chunks at most.
//
// Order of calls: OnOver for each chunk that At has told, once, in any order.
class FoldSchedule {
 public:
  // `message_bytes`: of the buffer; of all blocks together for reduce_scatter. `*shape` is not kept.
  FoldSchedule(const Plan& plan, const ShapeIndex& shape, Collective collective, uint64_t message_bytes);

  struct Chunk {
    bool results = false;  // the second one of two
    uint64_t first_segment = 0;
    uint32_t segments = 0;
    uint64_t notes_offset = 0;  // where in the notes the results of its first segment lie
  };
  // Chunks that may be started, in order, and whether these are all.
  uint64_t chunk_count() const { return known_; }
  bool complete() const { return known_ == (in_parts_ ? 2 * pairs_ : pairs_); }
  Chunk At(uint64_t index) const;
  void OnOver(uint64_t index);

  bool in_parts() const { return in_parts_; }
  uint64_t segment_count() const { return segments_; }
  // Of one slice, but perhaps the last; 0 if a segment cannot hold a slice of all ranks of a node.
  uint64_t slice_bytes() const { return slice_; }
  uint64_t message_bytes() const { return message_bytes_; }
  // Directly: the segment's slice. In parts: that of the node at `position`.
  Slice SliceAt(uint64_t segment, uint32_t position) const;
  uint64_t notes_bytes() const;

 private:
  static constexpr uint64_t kAhead = 2;  // chunks of contributions before the first results
  static constexpr uint64_t kNoteSlots = 4;

  // Chunk `index` in terms of pairs: which one, and which of the two.
  struct Place {
    uint64_t pair = 0;
    bool results = false;
  };
  Place PlaceOf(uint64_t index) const;
  void Learn();

  const uint64_t message_bytes_;
  const uint32_t nodes_;
  const uint32_t segments_per_chunk_;
  bool in_parts_ = false;
  uint64_t slice_ = 0;
  uint64_t segments_ = 1;
  uint64_t pairs_ = 1;  // of chunks, in parts; else the chunks
  uint64_t known_ = 0;
  std::set<uint64_t> contributed_, told_;  // pairs whose chunks are over, as long as somebody may ask for it
};

// One call at one node. Contributions lie in the send buffers by rank, as the message does; `ranks` is not looked at.
struct FoldCall {
  const BlockCall* call = nullptr;
  const FoldSchedule* schedule = nullptr;
};

// The sequence for one segment. `notes_offset`: of the segment's result, in parts.
// Errors: UNIMPLEMENTED if a node has more ranks than a segment holds slices.
// Cost:   O(ranks).
// Source: our own; what comes out is the sum in order of ranks, as in a program without Copse.
absl::StatusOr<NodeSequence> ExpandFold(const FoldCall& fold, uint64_t segment, bool results, uint64_t notes_offset);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_FOLDS_H_
