// SPDX-License-Identifier: Apache-2.0
//
// Expansions of alltoall(v).
#include <algorithm>
#include <utility>

#include "schedule/block_expansion.h"

namespace copse::schedule {

uint64_t BlockExpansion::BlockTo(uint32_t local, uint32_t rank) const {
  const BlockList* list = call_.ranks[local].send;
  return list != nullptr ? (*list)[rank].bytes : call_.block_bytes;
}

uint64_t BlockExpansion::BlockFrom(uint32_t local, uint32_t rank) const {
  const BlockList* list = call_.ranks[local].receive;
  return list != nullptr ? (*list)[rank].bytes : call_.block_bytes;
}

Buffer BlockExpansion::PlaceTo(uint32_t local, uint32_t rank, uint64_t offset) const {
  const BlockList* list = call_.ranks[local].send;
  return {Place::kRankSend, local, (list != nullptr ? (*list)[rank].offset : rank * call_.block_bytes) + offset};
}

Buffer BlockExpansion::PlaceFrom(uint32_t local, uint32_t rank, uint64_t offset) const {
  const BlockList* list = call_.ranks[local].receive;
  return {Place::kRankRecv, local, (list != nullptr ? (*list)[rank].offset : rank * call_.block_bytes) + offset};
}

uint64_t BlockExpansion::PackFor(uint32_t to, Buffer target, RunList* runs) const {
  const uint64_t begin = target.offset;
  uint64_t stream = 0;
  for (uint32_t l = 0; l < own_ranks_.size() && stream < slice_.end; ++l) {
    for (const Rank r : shape_.RanksOf(NodeIndex(to))) {
      const uint64_t bytes = BlockTo(l, r.value());
      InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
        runs->Add(PlaceTo(l, r.value(), offset), target, length);
        target.offset += length;
      });
      stream += bytes;
    }
  }
  return target.offset - begin;
}

uint64_t BlockExpansion::ReceivedFrom(uint32_t from, RunList* runs, Buffer lies) const {
  uint64_t stream = 0;
  uint64_t total = 0;
  for (const Rank s : shape_.RanksOf(NodeIndex(from))) {
    for (uint32_t l = 0; l < own_ranks_.size() && stream < slice_.end; ++l) {
      const uint64_t bytes = BlockFrom(l, s.value());
      InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
        if (runs != nullptr) runs->Add(lies, PlaceFrom(l, s.value(), offset), length);
        lies.offset += length;
        total += length;
      });
      stream += bytes;
    }
  }
  return total;
}

void BlockExpansion::CopyLocally(RunList* runs) const {
  uint64_t stream = 0;
  for (uint32_t l = 0; l < own_ranks_.size() && stream < slice_.end; ++l) {
    const uint32_t from = own_ranks_[l].value();
    for (uint32_t m = 0; m < own_ranks_.size(); ++m) {
      const uint32_t to = own_ranks_[m].value();
      // A mismatch of the lists is reported after the first segment; until then the shorter length holds.
      const uint64_t bytes = std::min(BlockTo(l, to), BlockFrom(m, from));
      InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
        runs->Add(PlaceTo(l, to, offset), PlaceFrom(m, from, offset), length);
      });
      stream += bytes;
    }
  }
}

// A stream is the blocks of one node's ranks for another's, by sender and then by receiver, with a PairNote before
// them. The data that a node's ranks have for one another is a stream, too, so that no segment copies more of it than
// of others.
void BlockExpansion::AlltoallByPairs() {
  const uint64_t note_bytes = call_.has_notes && slice_.begin == 0 ? sizeof(PairNote) : 0;
  std::vector<uint32_t> awaited;
  RunList runs;
  for (uint32_t d = 1; d < n_; ++d) {
    if (Goes(ReceivedFrom(Before(d), nullptr) + note_bytes)) awaited.push_back(d);
  }
  out_.Wait(kUp);
  for (uint32_t d = 1; d < n_; ++d) {
    const uint32_t to = At(d);
    if (note_bytes > 0) {
      runs.Add({Place::kNotes, 0, order_.PositionOf(to) * sizeof(PairNote)}, {Place::kScratch}, note_bytes);
    }
    const uint64_t bytes = note_bytes + PackFor(to, {Place::kScratch, 0, note_bytes}, &runs);
    SendRuns(to, kDown, &runs, bytes);
    runs.Take();
  }
  CopyLocally(&runs);
  out_.CopyRuns(runs.Take());
  if (awaited.empty()) return;
  for (const uint32_t d : awaited) out_.RecvFrom(Before(d), kDown);
  out_.Wait(kDown);
  RunList landing;
  for (const uint32_t d : awaited) {
    const uint32_t from = Before(d);
    if (note_bytes > 0) {
      runs.Add({Place::kCell, from}, {Place::kNotes, 0, (n_ + order_.PositionOf(from)) * sizeof(PairNote)}, note_bytes);
    }
    const bool lands = note_bytes == 0 && IsPut(ReceivedFrom(from, nullptr));
    ReceivedFrom(from, lands ? &landing : &runs, note_bytes);
    out_.Land(kDown, landing.Take());
  }
  out_.CopyRuns(runs.Take());
}

uint64_t BlockExpansion::StreamBytes(uint32_t from, uint32_t to) const {
  const uint64_t pairs = uint64_t{shape_.RanksOf(NodeIndex(order_.NodeAt(from))).size()} *
                         shape_.RanksOf(NodeIndex(order_.NodeAt(to))).size();
  return Clip(pairs * call_.block_bytes);
}

// In the round of distance s every node passes on the streams whose way has the bit s, by ascending way: a stream
// travels its way bit by bit, from the lowest. Before that round the part of its way below s is behind it.
void BlockExpansion::AlltoallByDoubling() {
  out_.Wait(0);
  RunList runs;
  CopyLocally(&runs);
  out_.CopyRuns(runs.Take());
  std::vector<Buffer> lies(n_);  // by way: place of the stream at this node; kNone: it begins here
  uint16_t round = 0;
  for (const uint32_t s : DistancesOf(plan_)) {
    ++round;
    uint64_t sends = 0;
    uint64_t receives = 0;
    std::vector<std::pair<uint32_t, Buffer>> coming;
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
      coming.emplace_back(way, Buffer{Place::kCell, Before(s), receives});
      receives += StreamBytes(begin, (begin + way) % n_);
    }
    SendRuns(At(s), round, &runs, sends);
    runs.Take();
    for (const auto& [way, at] : coming) lies[way] = at;
    if (!Goes(receives)) continue;
    out_.RecvFrom(Before(s), round);
    out_.Wait(round);
  }
  for (uint32_t way = 1; way < n_; ++way) ReceivedFrom(Before(way), &runs, lies[way]);
  out_.CopyRuns(runs.Take());
}

namespace {

PairNote NoteOfLists(const std::vector<uint64_t>& bytes) {
  PairNote note{.bytes = 0, .counts_hash = HashCounts(bytes), .bytes_max = 0};
  for (const uint64_t b : bytes) note.bytes += b;
  return note;
}

}  // namespace

PairNote NoteOf(const BlockCall& call, uint32_t to) {
  const PackedOrder& order = call.sizes->order();
  std::vector<uint64_t> bytes;
  for (const RankBuffers& rank : call.ranks) {
    for (const Rank r : call.sizes->shape().RanksOf(NodeIndex(order.NodeAt(to)))) {
      bytes.push_back((*rank.send)[r.value()].bytes);
    }
  }
  return NoteOfLists(bytes);
}

PairNote NoteExpected(const BlockCall& call, uint32_t from) {
  const PackedOrder& order = call.sizes->order();
  std::vector<uint64_t> bytes;
  for (const Rank r : call.sizes->shape().RanksOf(NodeIndex(order.NodeAt(from)))) {
    for (const RankBuffers& rank : call.ranks) bytes.push_back((*rank.receive)[r.value()].bytes);
  }
  return NoteOfLists(bytes);
}

}  // namespace copse::schedule
