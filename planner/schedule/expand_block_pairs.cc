// SPDX-License-Identifier: Apache-2.0
//
// Everybody to everybody.
#include <algorithm>
#include <utility>

#include "planner/schedule/block_expansion.h"

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

// A stream is the blocks of the one node's ranks for the other's, by sender and then by receiver; a note before them.
void BlockExpansion::Alltoall() {
  const uint64_t note_bytes = call_.has_notes && slice_.begin == 0 ? sizeof(PairNote) : 0;
  std::vector<std::pair<uint32_t, uint64_t>> awaited;
  RunList runs;
  for (uint32_t d = 1; d < n_; ++d) {
    const uint64_t bytes = ReceivedFrom(Before(d), nullptr) + note_bytes;
    if (bytes > 0) awaited.emplace_back(d, bytes);
  }
  out_.Wait(kUp);
  for (uint32_t d = 1; d < n_; ++d) {
    const uint32_t to = At(d);
    uint64_t at = note_bytes;
    if (note_bytes > 0) {
      runs.Add({Place::kNotes, 0, order_.PositionOf(to) * sizeof(PairNote)}, {Place::kScratch}, note_bytes);
    }
    uint64_t stream = 0;
    for (uint32_t l = 0; l < own_ranks_.size() && stream < slice_.end; ++l) {
      for (const Rank r : shape_.RanksOf(NodeIndex(to))) {
        const uint64_t bytes = BlockTo(l, r.value());
        InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
          runs.Add(PlaceTo(l, r.value(), offset), {Place::kScratch, 0, at}, length);
          at += length;
        });
        stream += bytes;
      }
    }
    SendRuns(to, kDown, &runs, at);
    runs.Take();
  }
  // Among themselves.
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) {
    for (uint32_t m = 0; m < own_ranks_.size(); ++m) {
      // Local blocks have no stream; they go with the first segment.
      if (slice_.begin > 0) break;
      const uint32_t to = own_ranks_[m].value();
      const uint64_t bytes = std::min(BlockTo(l, to), BlockFrom(m, own_ranks_[l].value()));
      runs.Add(PlaceTo(l, to, 0), PlaceFrom(m, own_ranks_[l].value(), 0), bytes);
    }
  }
  out_.CopyRuns(runs.Take());
  if (awaited.empty()) return;
  for (const auto& [d, bytes] : awaited) out_.RecvFrom(Before(d), kDown);
  out_.Wait(kDown);
  for (const auto& [d, bytes] : awaited) {
    const uint32_t from = Before(d);
    if (note_bytes > 0) {
      runs.Add({Place::kCell, from}, {Place::kNotes, 0, (n_ + order_.PositionOf(from)) * sizeof(PairNote)}, note_bytes);
    }
    ReceivedFrom(from, &runs, note_bytes);
  }
  out_.CopyRuns(runs.Take());
}

uint64_t BlockExpansion::ReceivedFrom(uint32_t from, RunList* runs, uint64_t cell_offset) const {
  uint64_t stream = 0;
  uint64_t total = 0;
  for (const Rank s : shape_.RanksOf(NodeIndex(from))) {
    for (uint32_t l = 0; l < own_ranks_.size() && stream < slice_.end; ++l) {
      const uint64_t bytes = BlockFrom(l, s.value());
      InSlice(stream, bytes, [&](uint64_t offset, uint64_t length) {
        if (runs != nullptr) {
          runs->Add({Place::kCell, from, cell_offset + total}, PlaceFrom(l, s.value(), offset), length);
        }
        total += length;
      });
      stream += bytes;
    }
  }
  return total;
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
