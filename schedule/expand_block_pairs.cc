// SPDX-License-Identifier: Apache-2.0
//
// Expands alltoall and alltoallv.
#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "schedule/block_expansion.h"

namespace copse::schedule {
namespace {

// Calls f(local rank, rank of `node`) for each block of the stream to `node` (or from it, if `sends` is false), until f
// returns false. A stream is the blocks of one node's ranks for another node's ranks, by sender and then by receiver.
template <typename F>
void ForEachInStream(const ShapeIndex& shape, uint32_t node, size_t local_ranks, bool sends, F f) {
  const absl::Span<const Rank> others = shape.RanksOf(NodeIndex(node));
  const size_t senders = sends ? local_ranks : others.size();
  const size_t receivers = sends ? others.size() : local_ranks;
  for (size_t s = 0; s < senders; ++s) {
    for (size_t r = 0; r < receivers; ++r) {
      if (!f(static_cast<uint32_t>(sends ? s : r), others[sends ? r : s].value())) return;
    }
  }
}

class PairExpansion : BlockExpansion {
 public:
  using BlockExpansion::BlockExpansion;

  NodeSequence Run() {
    PassesOn(plan_) ? ByDoubling() : ByPairs();
    return End();
  }

 private:
  // Adds the copies that pack the slice of the stream to node `to` at `target`. Returns its bytes.
  uint64_t PackFor(uint32_t to, Buffer target, RunList* runs) const;
  // Returns the bytes of the slice of the stream from node `from`. If `runs` is set, adds the copies from `lies`, where
  // the data begins, to the local ranks' receive buffers.
  uint64_t ReceivedFrom(uint32_t from, RunList* runs, Buffer lies = {}) const;
  // Adds the copies among the local ranks, within the slice.
  void CopyLocally(RunList* runs) const;
  // Returns the bytes of the slice of the stream from one position to another, for equal blocks.
  uint64_t StreamBytes(uint32_t from, uint32_t to) const;
  void ByPairs();
  void ByDoubling();
};

uint64_t PairExpansion::PackFor(uint32_t to, Buffer target, RunList* runs) const {
  const uint64_t begin = target.offset;
  uint64_t stream = 0;
  ForEachInStream(shape_, to, own_ranks_.size(), true, [&](uint32_t l, uint32_t rank) {
    const uint64_t bytes = BlockTo(l, rank).bytes;
    InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
      runs->Add(PlaceTo(l, rank, offset), target, length);
      target.offset += length;
    });
    stream += bytes;
    return stream < slice_.end;
  });
  return target.offset - begin;
}

uint64_t PairExpansion::ReceivedFrom(uint32_t from, RunList* runs, Buffer lies) const {
  const uint64_t begin = lies.offset;
  uint64_t stream = 0;
  ForEachInStream(shape_, from, own_ranks_.size(), false, [&](uint32_t l, uint32_t rank) {
    const uint64_t bytes = BlockFrom(l, rank).bytes;
    InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
      if (runs != nullptr) runs->Add(lies, PlaceFrom(l, rank, offset), length);
      lies.offset += length;
    });
    stream += bytes;
    return stream < slice_.end;
  });
  return lies.offset - begin;
}

void PairExpansion::CopyLocally(RunList* runs) const {
  uint64_t stream = 0;
  ForEachInStream(shape_, node_, own_ranks_.size(), true, [&](uint32_t l, uint32_t to) {
    const uint32_t m = shape_.LocalIndexOf(Rank(to));
    const uint32_t from = own_ranks_[l].value();
    // If the ranks' lists differ, the call fails after the first segment; until then the shorter length holds.
    const uint64_t bytes = std::min(BlockTo(l, to).bytes, BlockFrom(m, from).bytes);
    InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
      runs->Add(PlaceTo(l, to, offset), PlaceFrom(m, from, offset), length);
    });
    stream += bytes;
    return stream < slice_.end;
  });
}

// Exchanges the slice of each stream directly. The stream from the node to itself is cut like the others, so that its
// copies are spread evenly over the segments.
void PairExpansion::ByPairs() {
  const uint64_t note_bytes = call_.has_notes && slice_.begin == 0 ? sizeof(PairNote) : 0;
  std::vector<std::pair<uint32_t, uint64_t>> awaited;  // node and bytes
  RunList runs;
  for (uint32_t d = 1; d < n_; ++d) {
    const uint64_t bytes = ReceivedFrom(Before(d), nullptr) + note_bytes;
    if (Goes(bytes)) awaited.emplace_back(Before(d), bytes);
  }
  out_.Wait(kUp);
  for (uint32_t d = 1; d < n_; ++d) {
    const uint32_t to = At(d);
    if (note_bytes > 0) {
      runs.Add({Place::kNotes, 0, order_.PositionOf(to) * sizeof(PairNote)}, {Place::kScratch}, note_bytes);
    }
    const uint64_t bytes = note_bytes + PackFor(to, {Place::kScratch, 0, note_bytes}, &runs);
    SendRuns(to, kDown, &runs, bytes);
  }
  CopyLocally(&runs);
  Copy(&runs);
  if (awaited.empty()) return;
  for (const auto& [from, bytes] : awaited) out_.RecvFrom(from, kDown, bytes);
  out_.Wait(kDown);
  RunList landing;
  for (const auto& [from, bytes] : awaited) {
    if (note_bytes > 0) {
      runs.Add({Place::kCell, from}, {Place::kNotes, 0, (n_ + order_.PositionOf(from)) * sizeof(PairNote)}, note_bytes);
    }
    const bool lands = note_bytes == 0 && IsPut(bytes);
    ReceivedFrom(from, lands ? &landing : &runs, {Place::kCell, from, note_bytes});
    out_.Land(kDown, landing.Take());
  }
  Copy(&runs);
}

uint64_t PairExpansion::StreamBytes(uint32_t from, uint32_t to) const {
  const uint64_t pairs = uint64_t{shape_.RanksOf(NodeIndex(order_.NodeAt(from))).size()} *
                         shape_.RanksOf(NodeIndex(order_.NodeAt(to))).size();
  return Clip(pairs * sizes_.Of(0));
}

// A stream's way is the number of positions from its sender to its receiver. It is forwarded along the bits of its way,
// from the lowest: in the round of distance s every node forwards the streams whose way has the bit s, by ascending
// way. Before that round a stream has covered the bits below s (`behind`).
void PairExpansion::ByDoubling() {
  out_.Wait(0);
  RunList runs;
  CopyLocally(&runs);
  Copy(&runs);
  std::vector<Buffer> lies(n_);  // by way: place of the stream at this node; kNone: this node is its sender
  uint16_t round = 0;
  for (const uint32_t s : DistancesOf(plan_)) {
    ++round;
    uint64_t sends = 0;
    uint64_t receives = 0;
    for (uint32_t way = s; way < n_; ++way) {
      if ((way & s) == 0) continue;
      const uint32_t behind = way & (s - 1);
      if (behind == 0) {
        sends += PackFor(At(way), {Place::kScratch, 0, sends}, &runs);
      } else {
        const uint32_t begin = (position_ + n_ - behind) % n_;
        const uint64_t bytes = StreamBytes(begin, (begin + way) % n_);
        runs.Add(lies[way], {Place::kScratch, 0, sends}, bytes);
        sends += bytes;
      }
      const uint32_t begin = (position_ + 2 * n_ - s - behind) % n_;
      lies[way] = Buffer{Place::kCell, Before(s), receives};
      receives += StreamBytes(begin, (begin + way) % n_);
    }
    SendRuns(At(s), round, &runs, sends);
    if (!Goes(receives)) continue;
    out_.RecvFrom(Before(s), round, receives);
    out_.Wait(round);
  }
  for (uint32_t way = 1; way < n_; ++way) ReceivedFrom(Before(way), &runs, lies[way]);
  Copy(&runs);
}

// Returns the note of the stream to the node at `position` (or from it, if `sends` is false), without bytes_max.
PairNote NoteOfStream(const BlockCall& call, uint32_t position, bool sends) {
  const ShapeIndex& shape = call.sizes->shape();
  PairNote note;
  std::vector<uint64_t> bytes;
  ForEachInStream(shape, call.sizes->order().NodeAt(position), call.ranks.size(), sends, [&](uint32_t l, uint32_t r) {
    bytes.push_back((sends ? *call.ranks[l].send : *call.ranks[l].receive)[r].bytes);
    note.bytes += bytes.back();
    return true;
  });
  note.counts_hash = HashCounts(bytes);
  return note;
}

}  // namespace

absl::StatusOr<NodeSequence> ExpandAlltoall(const BlockCall& call, const Slice& slice) {
  if (PassesOn(*call.plan) && call.has_notes) {
    return absl::InvalidArgumentError("alltoallv: who passes on others' blocks does not know how long they are");
  }
  return PairExpansion(call, slice).Run();
}

PairNote NoteOf(const BlockCall& call, uint32_t to) { return NoteOfStream(call, to, true); }
PairNote NoteExpected(const BlockCall& call, uint32_t from) { return NoteOfStream(call, from, false); }

}  // namespace copse::schedule
