// SPDX-License-Identifier: Apache-2.0
//
// Lowering: turns a node's primitive sequence into the triggered descriptor sequences that the engine runs.
#ifndef COPSE_SCHEDULE_LOWER_H_
#define COPSE_SCHEDULE_LOWER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "offload_emu/descriptor.h"
#include "schedule/expand.h"

namespace copse::schedule {

// The place of the call's slot in the team's port: it maps symbolic buffers, peers and counters to numbers.
struct PortMap {
  emu::CounterIndex counter_base = 0;  // the slot's first counter
  emu::RegionIndex scratch = emu::kNoRegion;
  // Regions bound to the ranks' buffers, by local index.
  emu::RegionIndex rank_send_base = 0;
  emu::RegionIndex rank_receive_base = 0;
  emu::RegionIndex notes = emu::kNoRegion;
  // The plan's neighbors here: node indices ascending, and for each its edge and the edge's eager buffer in this
  // slot.
  absl::Span<const uint32_t> neighbours;
  absl::Span<const uint32_t> edges;
  absl::Span<const emu::RegionIndex> cells;
  uint16_t sequence = 0;  // call number modulo 2^16
  uint16_t hash = 0;
  uint64_t node_event = 0;  // value of the event "the node's part is done"
  uint64_t rank_event = 0;  // value of the event "this rank is done"
};

// One armed sequence: descriptors [first, first + count) of LoweredCall::descriptors.
struct LoweredSequence {
  emu::Trigger trigger;
  uint32_t first = 0;
  uint32_t count = 0;
};

// The descriptors to post. It is reused from call to call: nothing is allocated once its vectors have grown.
struct LoweredCall {
  std::vector<emu::Descriptor> descriptors;
  std::vector<LoweredSequence> sequences;
  // LowerRank: counters to which the arriving rank adds 1 once all else is done.
  std::vector<emu::CounterIndex> arrivals;
  // Runs of the copy lists: a descriptor's are [remote_offset, remote_offset + bytes), until KeepRuns.
  std::vector<emu::CopyRun> runs;
};
// Moves the runs to `*kept`, which must live until the call is over, and points the descriptors there.
void KeepRuns(LoweredCall* call, std::vector<emu::CopyRun>* kept);

// Counters that a slot needs for the largest call of `plan` at a node with `local_ranks` ranks.
uint32_t CountersPerSlot(const Plan& plan, uint32_t local_ranks);
// Sequences that one call arms at most at a node with `local_ranks` ranks.
uint32_t SequencesPerCall(const Plan& plan, uint32_t local_ranks);
// SequencesPerCall for a call with an ordered reduction (folds.h) over all `ranks` ranks of the team.
uint32_t SequencesPerFold(const Plan& plan, uint32_t local_ranks, uint32_t ranks);

// Counters of a slot: segment * (phases + 2) + phase counts arrivals of that phase (and the end of the phase before, so
// that phases run in order although packets may overtake one another); phase number `phases` means "this segment's
// ranks may go", the next one links the parts of a block that is too long for one sequence. Behind them: one that
// counts segments whose node part is done, then one per local rank that counts its segments.
//
// Preconditions: `sequence` came from Expand; `map` has an edge for every peer in it. Cost: O(segments * primitives).
//
// Segment s runs sequences[s % sequences.size()]: most calls have one, an allreduce on a ring has RotationsOf(plan), a
// block collective has one per segment.
using Sequences = absl::Span<const NodeSequence* const>;
std::vector<const NodeSequence*> PointersTo(absl::Span<const NodeSequence> sequences);

// Lowers the node's part, to be posted when the node's first rank has arrived.
void LowerNode(const Plan& plan, Sequences sequences, const CallArguments& arguments, const PortMap& map,
               LoweredCall* call);
// Lowers local rank `local`'s part, to be posted when that rank has arrived and its buffers are bound.
void LowerRank(const Plan& plan, Sequences sequences, const CallArguments& arguments, const PortMap& map,
               uint32_t local, LoweredCall* call);

// Lowers one chunk of a block collective (blocks.h), to be posted when all ranks of the node have arrived and their
// whole buffers are bound.
void LowerBlocks(const Plan& plan, Sequences segments, const CallArguments& arguments, const PortMap& map,
                 LoweredCall* call);
// Lowers the event that notifies local rank `local` of the chunk's end.
void LowerBlocksRank(const Plan& plan, Sequences segments, const CallArguments& arguments, const PortMap& map,
                     uint32_t local, LoweredCall* call);
// Bytes from one segment to the next in an eager buffer and in scratch.
uint32_t SegmentStride(const Plan& plan);
// Bytes of an eager buffer, and of scratch, for the largest chunk.
uint64_t CellBytes(const Plan& plan);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_LOWER_H_
