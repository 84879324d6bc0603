// SPDX-License-Identifier: Apache-2.0
//
// Lowers a node's primitive sequence to the triggered descriptor sequences that the engine runs.
#ifndef COPSE_SCHEDULE_LOWER_H_
#define COPSE_SCHEDULE_LOWER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "offload_emu/descriptor.h"
#include "schedule/expand.h"

namespace copse::schedule {

// A PortMap describes the call's slot in the team's port: it maps symbolic buffers, peers and counters to numbers.
struct PortMap {
  emu::CounterIndex counter_base = 0;  // the slot's first counter
  emu::RegionIndex scratch = emu::kNoRegion;
  // Regions of the ranks' buffers: that of local rank l is the base plus l.
  emu::RegionIndex rank_send_base = 0;
  emu::RegionIndex rank_receive_base = 0;
  emu::RegionIndex notes = emu::kNoRegion;
  // These are the node's neighbors in the plan: node indices ascending, and for each its edge and the edge's eager
  // buffer in this slot.
  absl::Span<const uint32_t> neighbors;
  absl::Span<const uint32_t> edges;
  absl::Span<const emu::RegionIndex> cells;
  uint16_t sequence = 0;  // call number modulo 2^16
  uint16_t hash = 0;
  uint64_t node_event = 0;  // value of the event that the node's part is complete
  uint64_t rank_event = 0;  // value of the event that the rank's part is complete
};

// A LoweredSequence is a trigger and the sequence to arm on it: LoweredCall::descriptors [first, first + count).
struct LoweredSequence {
  emu::Trigger trigger;
  uint32_t first = 0;
  uint32_t count = 0;
};

// A LoweredCall holds the sequences to post. Each lowering replaces its content but keeps the vectors' memory, so an
// object that is reused from call to call does not allocate once they have grown.
struct LoweredCall {
  std::vector<emu::Descriptor> descriptors;
  std::vector<LoweredSequence> sequences;
  // LowerRank lists here the counters to which the caller adds 1 for the rank's arrival, after it has posted the
  // sequences.
  std::vector<emu::CounterIndex> arrivals;
  // LowerNode and LowerBlocks list here what the neighbors send to the node's part.
  std::vector<emu::Arrival> awaited;
  // `runs` has the copy lists: a kCopyList descriptor has runs [remote_offset, remote_offset + bytes). KeepRuns moves
  // them.
  std::vector<emu::CopyRun> runs;
};
// Replaces `*kept` by the runs, and points the descriptors there. `*kept` must live until the call is complete. If
// there are runs, KeepRuns is called before the sequences are posted.
void KeepRuns(LoweredCall* call, std::vector<emu::CopyRun>* kept);

// Returns the counters that a slot needs for the plan's largest chunk at a node with `local_ranks` ranks.
uint32_t CountersPerSlot(const Plan& plan, uint32_t local_ranks);
// Returns the most sequences that one call of the port arms at a node with `local_ranks` of the team's `ranks` ranks.
uint32_t SequencesPerCall(const Plan& plan, uint32_t local_ranks, uint32_t ranks);
// Returns the most sequences for an ordered reduction (folds.h) over all `ranks` ranks of the team.
uint32_t SequencesPerFold(const Plan& plan, uint32_t local_ranks, uint32_t ranks);

// The Lower functions use the counters of a slot in this order. Each segment has phases + 2. One per phase counts the
// arrivals of that phase, and the end of the phase before, so that phases run in order although packets may overtake
// one another. The next one fires the ranks' parts of the segment, and the last one links the sequences of a block of
// descriptors that is too long for one. After the segments' counters, one counts segments whose node part is complete,
// and then one per local rank counts that rank's segments.
//
// Preconditions: the sequences came from expand.h, blocks.h or folds.h; `map` has an edge for every peer in them.
// Cost: O(segments * primitives).
//
// Segment s runs sequences[s % sequences.size()]: most calls have one, a circulant allreduce has RotationsOf(plan), a
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
// Lowers local rank `local`'s part of the chunk: only the event that the chunk is complete.
void LowerBlocksRank(const Plan& plan, Sequences segments, const CallArguments& arguments, const PortMap& map,
                     uint32_t local, LoweredCall* call);
// Returns the bytes from one segment to the next in the eager buffers and the scratch of a block collective.
uint32_t SegmentStride(const Plan& plan);
// Returns the bytes that the plan's largest chunk needs in each eager buffer, and in scratch.
uint64_t CellBytes(const Plan& plan);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_LOWER_H_
