// SPDX-License-Identifier: Apache-2.0
//
// Ordered reductions, for operations that round: contributions are combined in rank order, whatever the plan, so
// results are reproducible. They run by the plan of alltoall: each node sends its ranks' contributions to a slice of
// the message to the nodes that combine it.
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

// Whether the call needs an ordered reduction: a sum or product that rounds, with kReproducible. Precondition: type
// and operation were checked.
bool FoldsInOrder(const CallArguments& arguments);
// Returns the collective class of the call, and the collective whose plans it runs by: FamilyOf and PlanCollective,
// unless it is an ordered reduction.
Family FamilyOfCall(const CallArguments& arguments);
Collective PlanCollectiveOf(const CallArguments& arguments);

// The chunk that a call of the port carries.
struct FoldChunk {
  bool results = false;  // the second of the pair's two chunks
  uint64_t first_segment = 0;
  uint32_t segments = 0;
  uint64_t notes_offset = 0;  // offset in the metadata of the results of its first segment
};

// Cuts a call with an ordered reduction and orders its chunks; the same on all nodes.
//
// Directly: every node with a result to deliver gets all contributions to a slice and combines them itself. There is
// one message for each pair of nodes, and everything received is contributions.
//
// In parts, for reduce and allreduce beyond one slice: a segment has a slice for each node. In a first chunk each node
// gets the contributions to its own slice and combines them in its metadata; in a second one it sends the results to
// the nodes that need them. So no node receives more than the message and the contributions it has to combine. Two
// chunks of contributions are in flight before the results of the first one are asked for, and results not sent yet
// take kNoteSlots chunks at most.
//
// Order of calls: OnOver once for each chunk that At has returned, in any order.
class FoldSchedule {
 public:
  // `message_bytes`: the buffer's length; for reduce_scatter, that of all blocks together. `*shape` is not kept.
  FoldSchedule(const Plan& plan, const ShapeIndex& shape, Collective collective, uint64_t message_bytes);

  // Number of chunks that may be started, in order, and whether these are all.
  uint64_t chunk_count() const { return known_; }
  bool complete() const { return known_ == (in_parts_ ? 2 * pairs_ : pairs_); }
  FoldChunk At(uint64_t index) const;
  void OnOver(uint64_t index);

  bool in_parts() const { return in_parts_; }
  uint64_t segment_count() const { return segments_; }
  // Bytes of one slice (the last may be shorter); 0 if a segment cannot hold a slice for all ranks of a node.
  uint64_t slice_bytes() const { return slice_; }
  uint64_t message_bytes() const { return message_bytes_; }
  // Directly: the segment's slice. In parts: the slice of the node at `position`.
  Slice SliceAt(uint64_t segment, uint32_t position) const;
  uint64_t notes_bytes() const;

 private:
  static constexpr uint64_t kAhead = 2;  // chunks of contributions before the first results
  static constexpr uint64_t kNoteSlots = 4;

  // Chunk `index` as a pair and a half: its pair, and whether it is the second of the two.
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

// One call at one node. Contributions lie in the send buffers by rank, in message order; `ranks` is ignored.
struct FoldCall {
  const BlockCall* call = nullptr;
  const FoldSchedule* schedule = nullptr;
};

// Returns the sequence for one segment. `notes_offset`: offset of the segment's result in the metadata, if in parts.
// Errors: UNIMPLEMENTED if a node has more ranks than a segment holds slices.
// Cost:   O(ranks).
// Source: our own; the result is the sum in rank order, equal to that of a serial program.
absl::StatusOr<NodeSequence> ExpandFold(const FoldCall& fold, uint64_t segment, bool results, uint64_t notes_offset);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_FOLDS_H_
