// SPDX-License-Identifier: Apache-2.0
#include "schedule/lower.h"

#include <algorithm>

#include "base/check.h"
#include "schedule/blocks.h"

namespace copse::schedule {
namespace {

// The engine takes at most this many descriptors in one sequence. A longer block is cut, and its parts are chained by a
// counter: the next part must not overtake one that waits for credit.
constexpr uint32_t kSequenceDescriptorsMax = 64;

class Lowering {
 public:
  // Segment s uses sequences[s % sequences.size()]; a block collective has one sequence per segment.
  Lowering(const Plan& plan, absl::Span<const NodeSequence* const> sequences, bool blocks,
           const CallArguments& arguments, const PortMap& map, LoweredCall* call)
      : plan_(plan),
        sequences_(sequences),
        blocks_(blocks),
        arguments_(arguments),
        map_(map),
        call_(*call),
        phases_(PhaseCount(plan)),
        bytes_(arguments.collective == Collective::kBarrier ? 0 : arguments.bytes()),
        segments_(blocks ? static_cast<uint32_t>(sequences.size()) : SegmentCount(plan, bytes_)) {}

  void Node() {
    Clear();
    for (uint32_t s = 0; s < segments_; ++s) {
      SetSegment(s);
      NodeSegment();
    }
    if (segments_ == 1) return;
    Begin({.counter = NodeDone(), .threshold = segments_});
    Event(map_.node_event);
    Finish();
  }

  // A rank's part of a segment waits for the node's part; then the rank gets its data, or is released.
  void Rank(uint32_t l) {
    Clear();
    for (uint32_t s = 0; s < segments_; ++s) {
      SetSegment(s);
      Begin({.counter = Ready(), .threshold = 1});
      for (const Primitive& p : Sequence().primitives) {
        if (p.peer != l) continue;
        if (p.step == Step::kRecvLocal) call_.arrivals.push_back(Counter(s, p.phase));
        if (p.step == Step::kDeliver) Deliver(p, l);
      }
      if (segments_ == 1) {
        Event(map_.rank_event);
      } else {
        Count(RankDone(l));
      }
      Finish();
    }
    if (segments_ == 1) return;
    Begin({.counter = RankDone(l), .threshold = segments_});
    Event(map_.rank_event);
    Finish();
  }

 private:
  emu::CounterIndex InSlot(uint32_t segment, uint32_t phase) const { return segment * (phases_ + 2) + phase; }
  emu::CounterIndex Counter(uint32_t segment, uint32_t phase) const {
    return map_.counter_base + InSlot(segment, phase);
  }
  emu::CounterIndex Ready() const { return Counter(segment_, phases_); }
  emu::CounterIndex Chain() const { return Counter(segment_, phases_ + 1); }
  emu::CounterIndex NodeDone() const { return map_.counter_base + segments_ * (phases_ + 2); }
  emu::CounterIndex RankDone(uint32_t l) const { return NodeDone() + 1 + l; }

  void SetSegment(uint32_t s) {
    segment_ = s;
    cuts_ = 0;
    offset_ = uint64_t{s} * (blocks_ ? SegmentStride(plan_) : plan_.segment_bytes);
    if (blocks_) return;
    length_ =
        static_cast<uint32_t>(segments_ == 1 ? bytes_ : std::min<uint64_t>(plan_.segment_bytes, bytes_ - offset_));
  }
  const NodeSequence& Sequence() const { return *sequences_[segment_ % sequences_.size()]; }
  uint32_t LengthOf(const Primitive& p) const { return p.bytes == kWholeSegment ? length_ : p.bytes; }

  // Writes the node's part of one segment: a block of descriptors after every Wait.
  void NodeSegment() {
    uint32_t awaited = 0;
    bool first_block = true;
    for (const Primitive& p : Sequence().primitives) {
      switch (p.step) {
        case Step::kStart:
          break;
        case Step::kRecvFrom:
          call_.awaited.push_back({.edge = map_.edges[NeighborIndex(p.peer)],
                                   .counter = InSlot(segment_, p.phase),
                                   .bytes = LengthOf(p),
                                   .offset = offset_});
          ++awaited;
          break;
        case Step::kRecvLocal:
          ++awaited;
          break;
        case Step::kWait: {
          const emu::CounterIndex counter = Counter(segment_, p.phase);
          if (!first_block) {
            // The block before has to end first, so its last descriptor adds to this block's counter.
            Count(counter);
            Finish();
            ++awaited;
          }
          Begin({.counter = counter, .threshold = awaited, .priority = p.priority});
          first_block = false;
          awaited = 0;
          break;
        }
        case Step::kReduce:
          Reduce(p);
          break;
        case Step::kCopy:
          Copy(Ref(p.operands[0]), Ref(p.target), LengthOf(p));
          break;
        case Step::kCopyRuns:
          CopyRuns(p);
          break;
        case Step::kSendTo:
          Send(p);
          break;
        case Step::kDeliver:
        case Step::kRelease:
          break;  // these belong to the rank's part
        case Step::kEnd:
          Count(Ready());
          if (segments_ == 1) {
            Event(map_.node_event);
          } else {
            Count(NodeDone());
          }
          Finish();
          break;
      }
    }
  }

  void Clear() {
    call_.descriptors.clear();
    call_.sequences.clear();
    call_.arrivals.clear();
    call_.awaited.clear();
    call_.runs.clear();
  }

  size_t NeighborIndex(uint32_t node) const {
    const auto it = std::lower_bound(map_.neighbors.begin(), map_.neighbors.end(), node);
    CHECK(it != map_.neighbors.end() && *it == node);
    return static_cast<size_t>(it - map_.neighbors.begin());
  }

  emu::MemoryRef Ref(const Buffer& buffer) const {
    switch (buffer.place) {
      case Place::kNone:
        return {};
      case Place::kScratch:
        return {map_.scratch, offset_ + buffer.offset};
      case Place::kCell:
        return {map_.cells[NeighborIndex(buffer.index)], offset_ + buffer.offset};
      case Place::kRankSend:
        return {map_.rank_send_base + buffer.index, (blocks_ ? 0 : offset_) + buffer.offset};
      case Place::kRankRecv:
        return {map_.rank_receive_base + buffer.index, (blocks_ ? 0 : offset_) + buffer.offset};
      case Place::kNotes:
        return {map_.notes, buffer.offset};
    }
    return {};
  }

  void Send(const Primitive& p) {
    // A packet's payload goes to the start of the receiver's eager buffer, so only a short message of the first segment
    // is sent as a packet; any other one is a put at the segment's offset.
    const uint32_t length = LengthOf(p);
    const bool packet = length == 0 || (offset_ == 0 && length <= emu::kMpPayloadBytes);
    emu::Descriptor d;
    d.op = packet ? emu::OpCode::kSend : emu::OpCode::kPut;
    d.options = emu::kOptionTrigger;
    d.bytes = p.operands[0].place == Place::kNone ? 0 : length;
    if (d.bytes > 0) d.source = Ref(p.operands[0]);
    d.edge = map_.edges[NeighborIndex(p.peer)];
    d.remote_counter = InSlot(segment_, p.phase);
    d.remote_offset = offset_;
    d.sequence = map_.sequence;
    d.hash = map_.hash;
    Add(d);
  }

  // The ALU takes seven operands at once; a longer list continues with the result as the first operand of the next
  // batch.
  void Reduce(const Primitive& p) {
    const uint32_t length = LengthOf(p);
    if (length == 0) return;
    emu::Descriptor d;
    d.op = emu::OpCode::kReduce;
    d.alu_op = arguments_.op;
    d.alu_type = arguments_.type;
    d.bytes = length;
    d.target = Ref(p.target);
    size_t next = 0;
    while (next < p.operands.size()) {
      d.operand_count = 0;
      if (next > 0) d.operands[d.operand_count++] = d.target;
      while (next < p.operands.size() && d.operand_count < emu::kAluOperandsMax) {
        d.operands[d.operand_count++] = Ref(p.operands[next++]);
      }
      Add(d);
    }
  }

  void Deliver(const Primitive& p, uint32_t local) {
    Copy(Ref(p.operands[0]), Ref({Place::kRankRecv, local}), length_);
    if (p.lands && IsPut(length_)) MayLand(p.operands[0].index, p.phase);
  }

  // Marks the last descriptor, a copy of data from `node` in `phase`, for direct placement.
  void MayLand(uint32_t node, uint16_t phase) {
    emu::Descriptor& d = call_.descriptors.back();
    d.options = emu::kOptionLand;
    d.edge = map_.edges[NeighborIndex(node)];
    d.remote_counter = InSlot(segment_, phase);
  }

  void CopyRuns(const Primitive& p) {
    if (p.runs.size() == 1) {
      Copy(Ref(p.runs[0].from), Ref(p.runs[0].to), static_cast<uint32_t>(p.runs[0].bytes));
    } else {
      emu::Descriptor d;
      d.op = emu::OpCode::kCopyList;
      d.bytes = static_cast<uint32_t>(p.runs.size());
      d.remote_offset = call_.runs.size();
      for (const BufferRun& run : p.runs) call_.runs.push_back({Ref(run.from), Ref(run.to), run.bytes});
      Add(d);
    }
    if (p.lands) MayLand(p.runs[0].from.index, p.phase);
  }

  void Copy(emu::MemoryRef from, emu::MemoryRef to, uint32_t length) {
    if (length == 0) return;
    emu::Descriptor d;
    d.op = emu::OpCode::kCopy;
    d.bytes = length;
    d.source = from;
    d.target = to;
    Add(d);
  }

  void Count(emu::CounterIndex counter) {
    emu::Descriptor d;
    d.op = emu::OpCode::kCount;
    d.counter = counter;
    Add(d);
  }

  void Event(uint64_t value) {
    emu::Descriptor d;
    d.op = emu::OpCode::kEvent;
    d.value = value;
    Add(d);
  }

  void Begin(const emu::Trigger& trigger) {
    call_.sequences.push_back({trigger, static_cast<uint32_t>(call_.descriptors.size()), 0});
  }

  void Add(const emu::Descriptor& descriptor) {
    if (call_.descriptors.size() - call_.sequences.back().first == kSequenceDescriptorsMax - 1) {
      emu::Descriptor link;
      link.op = emu::OpCode::kCount;
      link.counter = Chain();
      call_.descriptors.push_back(link);
      Finish();
      Begin({.counter = Chain(), .threshold = ++cuts_, .priority = call_.sequences.back().trigger.priority});
    }
    call_.descriptors.push_back(descriptor);
  }

  void Finish() {
    LoweredSequence& sequence = call_.sequences.back();
    sequence.count = static_cast<uint32_t>(call_.descriptors.size()) - sequence.first;
  }

  const Plan& plan_;
  const absl::Span<const NodeSequence* const> sequences_;
  const bool blocks_;
  const CallArguments& arguments_;
  const PortMap& map_;
  LoweredCall& call_;
  const uint32_t phases_;
  const uint64_t bytes_;
  const uint32_t segments_;
  uint32_t segment_ = 0;
  uint32_t cuts_ = 0;  // number of cuts in this segment so far
  uint64_t offset_ = 0;
  uint32_t length_ = 0;
};

// Returns the largest number of neighbors of a node (on a cycle, of distances; in a symmetric schedule, of steps), on
// which the length of the longest block of descriptors depends.
uint32_t FanOut(const Plan& plan) {
  if (plan.kind == PlanKind::kCirculant) return static_cast<uint32_t>(DistancesOf(plan).size());
  uint32_t fan_out = 0;
  for (const auto& list : plan.neighbors) fan_out = std::max(fan_out, static_cast<uint32_t>(list.size()));
  for (const auto& list : plan.steps) fan_out = std::max(fan_out, static_cast<uint32_t>(list.size()));
  return fan_out;
}

// Returns an upper bound on the number of a call's sequences if the longest block, which may have to be cut, has
// `descriptors` descriptors.
uint32_t SequenceCount(const Plan& plan, uint32_t local_ranks, uint32_t descriptors) {
  const uint32_t segments = SegmentsPerChunk(plan);
  const uint32_t cuts = descriptors / (kSequenceDescriptorsMax - 1) + 1;
  return segments * PhaseCount(plan) * cuts + 1 + local_ranks * (segments + 1);
}

}  // namespace

std::vector<const NodeSequence*> PointersTo(absl::Span<const NodeSequence> sequences) {
  std::vector<const NodeSequence*> pointers;
  pointers.reserve(sequences.size());
  for (const NodeSequence& sequence : sequences) pointers.push_back(&sequence);
  return pointers;
}

uint32_t CountersPerSlot(const Plan& plan, uint32_t local_ranks) {
  return SegmentCount(plan, ChunkBytesMax(plan)) * (PhaseCount(plan) + 2) + 1 + local_ranks;
}

uint32_t SequencesPerCall(const Plan& plan, uint32_t local_ranks, uint32_t ranks) {
  const uint32_t fan_out = FanOut(plan);
  uint32_t descriptors = fan_out + (fan_out + local_ranks) / 6 + 4;
  if (HasBlocks(plan.collective)) descriptors = 2 * fan_out + 4 * local_ranks + 8;
  // A scan on a tree takes up to three descriptors per contribution. A segment has room for kScanSegmentBytesMax
  // contributions of a byte.
  if (FoldsAll(plan)) descriptors += 3 * std::min(ranks, kScanSegmentBytesMax);
  return SequenceCount(plan, local_ranks, descriptors);
}

uint32_t SequencesPerFold(const Plan& plan, uint32_t local_ranks, uint32_t ranks) {
  // A reduction takes six operands beside the accumulator, and the result of each local rank may end one early.
  return SequenceCount(plan, local_ranks, 2 * FanOut(plan) + ranks / 6 + 4 * local_ranks + 8);
}

void LowerNode(const Plan& plan, Sequences sequences, const CallArguments& arguments, const PortMap& map,
               LoweredCall* call) {
  Lowering(plan, sequences, false, arguments, map, call).Node();
}

void LowerRank(const Plan& plan, Sequences sequences, const CallArguments& arguments, const PortMap& map,
               uint32_t local, LoweredCall* call) {
  Lowering(plan, sequences, false, arguments, map, call).Rank(local);
}

void LowerBlocks(const Plan& plan, Sequences segments, const CallArguments& arguments, const PortMap& map,
                 LoweredCall* call) {
  Lowering(plan, segments, true, arguments, map, call).Node();
}

void LowerBlocksRank(const Plan& plan, Sequences segments, const CallArguments& arguments, const PortMap& map,
                     uint32_t local, LoweredCall* call) {
  Lowering(plan, segments, true, arguments, map, call).Rank(local);
}

void KeepRuns(LoweredCall* call, std::vector<emu::CopyRun>* kept) {
  kept->swap(call->runs);
  for (emu::Descriptor& d : call->descriptors) {
    if (d.op == emu::OpCode::kCopyList) d.runs = kept->data() + d.remote_offset;
  }
}

uint32_t SegmentStride(const Plan& plan) {
  const uint32_t notes = plan.collective == Collective::kAlltoall ? (sizeof(PairNote) + 15) / 16 * 16 : 0;
  return BlockSegmentBytes(plan) + notes;
}

uint64_t CellBytes(const Plan& plan) {
  if (!HasBlocks(plan.collective)) return ChunkBytesMax(plan);
  if (IsScan(plan.collective)) return kScanScratchBytes;
  return uint64_t{SegmentsPerChunk(plan)} * SegmentStride(plan);
}

}  // namespace copse::schedule
