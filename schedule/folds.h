// SPDX-License-Identifier: Apache-2.0
//
// Cuts and expands ordered reductions, for operations that round: contributions are reduced in rank order for any plan,
// so results are reproducible. They run by the plan of alltoall: each node sends its ranks' contributions to a slice of
// the message to the nodes that reduce it.
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

// Returns whether the call needs an ordered reduction: a sum or product of a floating-point or complex type with
// kReproducible. Precondition: type and operation were checked.
bool FoldsInOrder(const CallArguments& arguments);
// Return the collective class of the call, and the collective whose plans it runs by: those of alltoall for an ordered
// reduction, otherwise FamilyOf and PlanCollective.
Family FamilyOfCall(const CallArguments& arguments);
Collective PlanCollectiveOf(const CallArguments& arguments);

// A FoldChunk is the data of one call of the port.
struct FoldChunk {
  bool results = false;  // the chunk sends results; false: contributions
  uint64_t first_segment = 0;
  uint32_t segments = 0;
  uint64_t notes_offset = 0;  // offset of the first segment's result in Place::kNotes
};

// A FoldSchedule cuts a call with an ordered reduction and orders its chunks, equally on all nodes.
//
// A short message, and any of other collectives than reduce and allreduce, is reduced directly: every node with a
// result to deliver gets all contributions to a slice and reduces them. A segment has one slice.
//
// Otherwise the message is reduced in parts: a segment has a slice for each node, and chunks come in pairs. In the
// first chunk of a pair each node gets the contributions to its own slices and reduces them into Place::kNotes; in the
// second one it sends the results to the nodes that need them. So no node receives more than the message and the
// contributions that it has to reduce. Two chunks of contributions come before the first results, and the results that
// are not sent yet take at most kNoteSlots chunks of memory.
//
// Order of calls: OnOver once for each chunk that has ended, in any order. Thread-compatible.
class FoldSchedule {
 public:
  // `message_bytes` is the length of the result; for reduce_scatter, of all ranks' results together. No reference is
  // kept.
  FoldSchedule(const Plan& plan, const ShapeIndex& shape, Collective collective, uint64_t message_bytes);

  // Returns the number of chunks that may be started so far, in order of their indices. OnOver may raise it.
  uint64_t chunk_count() const { return known_; }
  // Returns whether chunk_count() is the number of all chunks of the call.
  bool complete() const { return known_ == (in_parts_ ? 2 * pairs_ : pairs_); }
  // Precondition: index < chunk_count().
  FoldChunk At(uint64_t index) const;
  // Records that the chunk has ended at this node.
  void OnOver(uint64_t index);

  bool in_parts() const { return in_parts_; }
  uint64_t segment_count() const { return segments_; }
  // Returns the bytes of one slice (the last may be shorter); 0 if a segment has no room for a slice of each of a
  // node's ranks.
  uint64_t slice_bytes() const { return slice_; }
  uint64_t message_bytes() const { return message_bytes_; }
  // Returns the segment's slice; in parts, its slice for the node at `position`.
  Slice SliceAt(uint64_t segment, uint32_t position) const;
  // Returns the bytes that results need in Place::kNotes; 0 unless in_parts().
  uint64_t notes_bytes() const;

 private:
  static constexpr uint64_t kAhead = 2;      // chunks of contributions before the first results
  static constexpr uint64_t kNoteSlots = 4;  // chunks of results that Place::kNotes has room for

  // A Turn identifies a chunk: its pair, and whether it is the second of the two, with the results.
  struct Turn {
    uint64_t pair = 0;
    bool results = false;
  };
  Turn TurnOf(uint64_t index) const;
  void Learn();

  const uint64_t message_bytes_;
  const uint32_t nodes_;
  const uint32_t segments_per_chunk_;
  bool in_parts_ = false;
  uint64_t slice_ = 0;
  uint64_t segments_ = 1;
  uint64_t pairs_ = 1;  // pairs of chunks if in parts, otherwise chunks
  uint64_t known_ = 0;
  std::set<uint64_t> contributed_, told_;  // finished chunks' pairs, kept while a chunk still depends on them
};

// A FoldCall is one call at one node. The send buffer of each rank is its contribution, in message order; call->ranks
// is ignored.
struct FoldCall {
  const BlockCall* call = nullptr;
  const FoldSchedule* schedule = nullptr;
};

// Returns the sequence for one segment of a chunk with contributions or, in parts, with `results`. `notes_offset` is
// the offset of the segment's result in Place::kNotes; only in parts.
// Errors: UNIMPLEMENTED if slice_bytes() is 0: a node has too many ranks.
// Cost:   O(ranks).
// Source: our own; the result has the bits of a serial reduction in rank order.
absl::StatusOr<NodeSequence> ExpandFold(const FoldCall& fold, uint64_t segment, bool results, uint64_t notes_offset);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_FOLDS_H_
