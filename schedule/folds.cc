// SPDX-License-Identifier: Apache-2.0
#include "schedule/folds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/element_types.h"
#include "schedule/block_expansion.h"

namespace copse::schedule {
namespace {

constexpr uint16_t kBefore = 0;
constexpr uint16_t kExchange = 1;

uint64_t RoundedUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

bool FoldsInOrder(const CallArguments& a) {
  if ((a.options & kReproducible) == 0 || !Reduces(a.collective)) return false;
  if (a.op != ElementOp::kSum && a.op != ElementOp::kProd) return false;
  const ElementKind kind = kElementTypes[static_cast<size_t>(a.type)].kind;
  return kind == ElementKind::kFloating || kind == ElementKind::kComplex;
}

Family FamilyOfCall(const CallArguments& arguments) {
  return FoldsInOrder(arguments) ? Family::kAlltoall : FamilyOf(arguments.collective);
}

Collective PlanCollectiveOf(const CallArguments& arguments) {
  return FoldsInOrder(arguments) ? Collective::kAlltoall : PlanCollective(arguments.collective);
}

// --- FoldSchedule: the cutting of the call ---

FoldSchedule::FoldSchedule(const Plan& plan, const ShapeIndex& shape, Collective collective, uint64_t message_bytes)
    : message_bytes_(message_bytes), nodes_(plan.node_count), segments_per_chunk_(SegmentsPerChunk(plan)) {
  size_t ranks_max = 0;
  for (uint32_t v = 0; v < nodes_; ++v) ranks_max = std::max(ranks_max, shape.RanksOf(NodeIndex(v)).size());
  slice_ = BlockSegmentBytes(plan) / ranks_max / kSegmentUnitBytes * kSegmentUnitBytes;
  if (slice_ == 0) {
    known_ = 1;  // ExpandFold returns the error
    return;
  }
  const bool whole = collective == Collective::kReduce || collective == Collective::kAllreduce;
  in_parts_ = whole && nodes_ > 1 && message_bytes > slice_;
  const uint64_t segment_bytes = in_parts_ ? nodes_ * slice_ : slice_;
  segments_ = std::max<uint64_t>(1, (message_bytes + segment_bytes - 1) / segment_bytes);
  if (in_parts_) {
    // Slices are made equal, so that the last segment does not leave some nodes with less work.
    const uint64_t slices = segments_ * nodes_;
    slice_ = RoundedUp((message_bytes + slices - 1) / slices, kSegmentUnitBytes);
  }
  pairs_ = (segments_ + segments_per_chunk_ - 1) / segments_per_chunk_;
  Learn();
}

FoldSchedule::Turn FoldSchedule::TurnOf(uint64_t index) const {
  if (!in_parts_) return {index, false};
  const uint64_t ahead = std::min(kAhead, pairs_);
  if (index < ahead) return {index, false};
  // Then results and further contributions alternate, and the remaining results follow.
  const uint64_t then = index - ahead;
  const uint64_t turns = pairs_ - ahead;
  if (then >= 2 * turns) return {then - turns, true};
  return then % 2 == 0 ? Turn{then / 2, true} : Turn{then / 2 + ahead, false};
}

FoldChunk FoldSchedule::At(uint64_t index) const {
  const Turn turn = TurnOf(index);
  const uint64_t first = turn.pair * segments_per_chunk_;
  return {.results = turn.results,
          .first_segment = first,
          .segments = static_cast<uint32_t>(std::min<uint64_t>(segments_per_chunk_, segments_ - first)),
          .notes_offset = turn.pair % kNoteSlots * segments_per_chunk_ * slice_};
}

void FoldSchedule::OnOver(uint64_t index) {
  if (complete()) return;
  const Turn turn = TurnOf(index);
  (turn.results ? told_ : contributed_).insert(turn.pair);
  Learn();
}

// Results may start after their contributions, and contributions after the results whose memory they reuse.
void FoldSchedule::Learn() {
  if (!in_parts_) {
    known_ = pairs_;
    return;
  }
  for (; !complete(); ++known_) {
    const Turn turn = TurnOf(known_);
    if (turn.results ? contributed_.erase(turn.pair) == 0
                     : turn.pair >= kNoteSlots && told_.erase(turn.pair - kNoteSlots) == 0) {
      return;
    }
  }
  contributed_.clear();
  told_.clear();
}

Slice FoldSchedule::SliceAt(uint64_t segment, uint32_t position) const {
  const uint64_t slice = in_parts_ ? segment * nodes_ + position : segment;
  const uint64_t begin = std::min(message_bytes_, slice * slice_);
  return {begin, std::min(message_bytes_, begin + slice_)};
}

uint64_t FoldSchedule::notes_bytes() const {
  return in_parts_ ? std::min(pairs_, kNoteSlots) * segments_per_chunk_ * slice_ : 0;
}

// --- FoldExpansion: the node's sequence ---

namespace {

class FoldExpansion : NodeExpansion {
 public:
  FoldExpansion(const FoldCall& fold, uint64_t segment)
      : NodeExpansion(*fold.call), schedule_(*fold.schedule), segment_(segment) {}

  NodeSequence Directly() {
    const Slice slice = schedule_.SliceAt(segment_, 0);
    out_.Wait(kBefore);
    for (uint32_t d = 1; d < n_; ++d) {
      if (Uses(node_, At(d), slice)) SendContributions(At(d), slice);
    }
    Await([&](uint32_t node) { return Uses(node, node_, slice) ? ContributedBytes(node, slice) : 0; });
    if (slice.bytes() > 0 && Wants(node_, slice)) {
      if (IsPrefix()) {
        DeliverPrefixes(slice);
      } else {
        AddAll(slice);
        Flush({Place::kScratch}, slice);
        Deliver({Place::kScratch}, slice);
      }
    }
    return End();
  }

  NodeSequence Contributions(uint64_t notes_offset) {
    const Slice own = schedule_.SliceAt(segment_, position_);
    out_.Wait(kBefore);
    for (uint32_t d = 1; d < n_; ++d) SendContributions(At(d), schedule_.SliceAt(segment_, order_.PositionOf(At(d))));
    Await([&](uint32_t node) { return ContributedBytes(node, own); });
    if (own.bytes() > 0) {
      AddAll(own);
      Flush({Place::kNotes, 0, notes_offset}, own);
    }
    return End();
  }

  NodeSequence Results(uint64_t notes_offset) {
    const Slice own = schedule_.SliceAt(segment_, position_);
    const Buffer result{Place::kNotes, 0, notes_offset};
    out_.Wait(kBefore);
    for (uint32_t d = 1; d < n_ && own.bytes() > 0; ++d) {
      if (Wants(At(d), own)) out_.SendTo(At(d), kExchange, result, static_cast<uint32_t>(own.bytes()));
    }
    const bool wants = Wants(node_, own);
    const auto of = [&](uint32_t node) { return schedule_.SliceAt(segment_, order_.PositionOf(node)); };
    Await([&](uint32_t node) { return wants ? of(node).bytes() : 0; });
    if (wants) {
      Deliver(result, own);
      for (uint32_t d = 1; d < n_; ++d) Deliver({Place::kCell, At(d)}, of(At(d)));
    }
    return End();
  }

 private:
  bool IsPrefix() const { return IsScan(call_.collective); }

  // Returns the bytes of the slice that belong to rank `rank`'s block of a reduce_scatter, as offsets in the message.
  Slice OfBlock(uint32_t rank, const Slice& slice) const {
    const uint64_t begin = sizes_.RankBegin(rank);
    const uint64_t low = std::max(begin, slice.begin);
    return {low, std::max(low, std::min(begin + sizes_.Of(rank), slice.end))};
  }
  // Returns whether a rank of the node gets some of the slice's result.
  bool Wants(uint32_t node, const Slice& slice) const {
    if (call_.collective == Collective::kReduce) return shape_.NodeOf(Rank(call_.root)).value() == node;
    if (call_.collective != Collective::kReduceScatter) return true;
    const absl::Span<const Rank> ranks = shape_.RanksOf(NodeIndex(node));
    return std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) { return OfBlock(rank.value(), slice).bytes() > 0; });
  }
  // Returns whether contributions of ranks of node `from` are operands of a result that a rank of another node, `to`,
  // gets.
  bool Uses(uint32_t from, uint32_t to, const Slice& slice) const {
    if (from == to || slice.bytes() == 0 || !Wants(to, slice)) return false;
    return !IsPrefix() || shape_.RanksOf(NodeIndex(from)).front() < shape_.RanksOf(NodeIndex(to)).back();
  }

  void SendContributions(uint32_t to, const Slice& slice) {
    const uint64_t bytes = slice.bytes();
    if (bytes == 0) return;
    Buffer from{Place::kRankSend, 0, slice.begin};
    if (own_ranks_.size() > 1) {
      from = {Place::kScratch};
      std::vector<BufferRun> runs;
      for (uint32_t l = 0; l < own_ranks_.size() && !(packed_ == slice); ++l) {
        runs.push_back({{Place::kRankSend, l, slice.begin}, {Place::kScratch, 0, l * bytes}, bytes});
      }
      out_.CopyRuns(std::move(runs));
      packed_ = slice;
    }
    out_.SendTo(to, kExchange, from, static_cast<uint32_t>(ContributedBytes(node_, slice)));
  }

  // Returns the bytes of all contributions of a node to the slice.
  uint64_t ContributedBytes(uint32_t node, const Slice& slice) const {
    return slice.bytes() * shape_.RanksOf(NodeIndex(node)).size();
  }

  // Awaits a message of each node from which `bytes_from(node)` > 0 bytes come.
  template <typename From>
  void Await(From bytes_from) {
    bool any = false;
    for (uint32_t d = 1; d < n_; ++d) {
      const uint32_t node = Before(d);
      const uint64_t bytes = bytes_from(node);
      if (bytes == 0) continue;
      out_.RecvFrom(node, kExchange, bytes);
      any = true;
    }
    if (any) out_.Wait(kExchange);
  }

  Buffer ContributionOf(uint32_t rank, const Slice& slice) const {
    const uint32_t local = shape_.LocalIndexOf(Rank(rank));
    if (IsHere(rank)) return {Place::kRankSend, local, slice.begin};
    return {Place::kCell, shape_.NodeOf(Rank(rank)).value(), local * slice.bytes()};
  }
  void AddAll(const Slice& slice) {
    for (uint32_t r = 0; r < shape_.size(); ++r) operands_.push_back(ContributionOf(r, slice));
  }
  // Reduces the operands collected so far to `to`, which becomes the first operand of the next reduction.
  void Flush(Buffer to, const Slice& slice) {
    if (operands_.size() == 1) {
      if (!(operands_[0] == to)) out_.CopyRuns({{operands_[0], to, slice.bytes()}});
    } else {
      out_.Reduce(std::exchange(operands_, {}), to, static_cast<uint32_t>(slice.bytes()));
    }
    operands_ = {to};
  }

  void Deliver(Buffer from, const Slice& slice) {
    std::vector<BufferRun> runs;
    for (uint32_t l = 0; l < own_ranks_.size(); ++l) {
      const uint32_t rank = own_ranks_[l].value();
      if (call_.collective == Collective::kReduce && rank != call_.root) continue;
      Slice part = slice;
      uint64_t to = slice.begin;
      if (call_.collective == Collective::kReduceScatter) {
        part = OfBlock(rank, slice);
        to = part.begin - std::min(part.begin, sizes_.RankBegin(rank));
      }
      if (part.bytes() == 0) continue;
      Buffer source = from;
      source.offset += part.begin - slice.begin;
      runs.push_back({source, {Place::kRankRecv, l, to}, part.bytes()});
    }
    out_.CopyRuns(std::move(runs));
  }

  // Delivers scan results; the sums alternate between two places in scratch.
  void DeliverPrefixes(const Slice& slice) {
    Buffer sum{Place::kScratch};
    Buffer next{Place::kScratch, 0, schedule_.slice_bytes()};
    const uint32_t last = own_ranks_.back().value();
    for (uint32_t r = 0; r <= last; ++r) {
      const Buffer result{Place::kRankRecv, shape_.LocalIndexOf(Rank(r)), slice.begin};
      const bool exclusive = IsHere(r) && !inclusive() && !operands_.empty();
      if (exclusive) Flush(sum, slice);
      operands_.push_back(ContributionOf(r, slice));
      if (exclusive) {
        // In place, the result overwrites the rank's contribution, which therefore is added first.
        if (r != last) Flush(next, slice);
        out_.CopyRuns({{sum, result, slice.bytes()}});
        std::swap(sum, next);
      } else if (IsHere(r) && inclusive()) {
        Flush(sum, slice);
        out_.CopyRuns({{sum, result, slice.bytes()}});
      }
    }
  }

  const FoldSchedule& schedule_;
  const uint64_t segment_;
  Slice packed_;  // slice for which scratch holds the packed contributions of the local ranks
  std::vector<Buffer> operands_;
};

}  // namespace

absl::StatusOr<NodeSequence> ExpandFold(const FoldCall& fold, uint64_t segment, bool results, uint64_t notes_offset) {
  if (fold.schedule->slice_bytes() == 0) {
    return absl::UnimplementedError(absl::StrCat(
        "reproducible: too many ranks on a node for a segment (bytes=", BlockSegmentBytes(*fold.call->plan),
        ", slice=", kSegmentUnitBytes, ")"));
  }
  FoldExpansion expansion(fold, segment);
  if (!fold.schedule->in_parts()) return expansion.Directly();
  return results ? expansion.Results(notes_offset) : expansion.Contributions(notes_offset);
}

}  // namespace copse::schedule
