// SPDX-License-Identifier: Apache-2.0
#include "schedule/block_program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "schedule/select_plan.h"

namespace copse::schedule {
namespace {

// Returns blocks of these lengths, back to back.
BlockList ListOf(const std::vector<uint64_t>& bytes) {
  BlockList list;
  list.reserve(bytes.size());
  uint64_t at = 0;
  for (const uint64_t b : bytes) {
    list.push_back({at, b});
    at += b;
  }
  return list;
}
uint64_t EndOf(const BlockList& list) { return list.empty() ? 0 : list.back().offset + list.back().bytes; }

absl::Status CheckCounts(const CallArguments& arguments, uint64_t ranks, const BlockCounts& counts) {
  const bool pairs = HasPairSizes(arguments.collective);
  const bool irregular = IsIrregular(arguments.collective);
  const uint64_t by_rank = irregular && !pairs ? ranks : 0;
  const uint64_t by_pair = pairs ? ranks * ranks : 0;
  if (counts.by_rank.size() == by_rank && counts.by_pair.size() == by_pair) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      AbslView(CollectiveName(arguments.collective)), ": counts do not fit it (by_rank=", counts.by_rank.size(),
      ", needed=", by_rank, ", by_pair=", counts.by_pair.size(), ", needed=", by_pair, ")"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlockProgram>> BlockProgram::Create(const Plan* plan, const ShapeIndex* shape,
                                                                   const CallArguments& arguments, BlockCounts counts) {
  if (!HasBlocks(arguments.collective) || PlanCollective(arguments.collective) != plan->collective) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan->id.value(), " (",
                                                   AbslView(CollectiveName(plan->collective)), "): not of ",
                                                   AbslView(CollectiveName(arguments.collective))));
  }
  RETURN_IF_ERROR(CheckCounts(arguments, shape->size(), counts));
  // A call whose counts not all ranks know runs by the plan for the longest blocks, whose chunks have room for the
  // metadata exchange.
  const bool tells =
      (!counts.by_rank.empty() || !counts.by_pair.empty()) && PlanBytesOf(arguments, shape->size()) == kCallBytesMax;
  if (tells && plan->bytes_max < kMessageBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan ", plan->id.value(), ": of short blocks, for a call of long ones (",
                     AbslView(CollectiveName(arguments.collective)), ", bytes_max=", plan->bytes_max, ")"));
  }
  return std::unique_ptr<BlockProgram>(new BlockProgram(plan, shape, arguments, std::move(counts)));
}

BlockProgram::BlockProgram(const Plan* plan, const ShapeIndex* shape, const CallArguments& arguments,
                           BlockCounts counts)
    : plan_(plan),
      shape_(shape),
      arguments_(arguments),
      regular_(PlanCollective(arguments.collective)),
      counts_(std::move(counts)),
      index_(*plan),
      order_(*shape, *plan, index_) {
  const uint64_t ranks = shape->size();
  if (!counts_.by_rank.empty()) {
    sizes_.emplace(&order_, shape_, counts_.by_rank);
    by_rank_ = ListOf(counts_.by_rank);
  } else {
    sizes_.emplace(&order_, shape_, counts_.by_pair.empty() ? arguments.bytes() : 0);
  }
  if (!counts_.by_pair.empty()) {
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> pairs;
    std::vector<uint64_t> column(ranks);
    for (uint64_t r = 0; r < ranks; ++r) {
      const auto row = counts_.by_pair.begin() + static_cast<ptrdiff_t>(r * ranks);
      send_.push_back(ListOf({row, row + static_cast<ptrdiff_t>(ranks)}));
      for (uint64_t s = 0; s < ranks; ++s) column[s] = counts_.by_pair[s * ranks + r];
      receive_.push_back(ListOf(column));
      const uint32_t from = shape->NodeOf(Rank(static_cast<uint32_t>(r))).value();
      for (uint32_t to = 0; to < ranks; ++to) {
        const uint32_t node = shape->NodeOf(Rank(to)).value();
        pair_bytes_max_ = std::max(pair_bytes_max_, pairs[{from, node}] += send_.back()[to].bytes);
      }
    }
  } else if (regular_ == Collective::kAlltoall) {
    pair_bytes_max_ = PairBytesMax(*shape, arguments.bytes());
  }
  cutting_.emplace(*plan, *sizes_, arguments.bytes(), pair_bytes_max_);
  const uint64_t each = SegmentsPerChunk(*plan);
  const uint64_t segments = cutting_->segment_count();
  const bool has_notes = HasPairSizes(arguments.collective);
  data_chunks_ = has_notes ? 1 + (segments - 1 + each - 1) / each : (segments + each - 1) / each;
  const uint64_t chunk_bytes = ChunkBytesMax(*plan);
  if (RootTells()) notes_chunks_ = (ranks * sizeof(uint64_t) + chunk_bytes - 1) / chunk_bytes;
}

bool BlockProgram::RootTells() const {
  return IsIrregular(arguments_.collective) && HasRoot(arguments_.collective) &&
         (arguments_.options & kCountsKnown) == 0;
}

uint64_t BlockProgram::BlockBytes(uint32_t from, uint32_t to) const {
  if (!counts_.by_pair.empty()) return counts_.by_pair[uint64_t{from} * shape_->size() + to];
  if (counts_.by_rank.empty()) return arguments_.bytes();
  return counts_.by_rank[TraitsOf(regular_).send == BufferKind::kBlocks ? to : from];
}

uint64_t BlockProgram::BufferBytes(BufferKind kind, uint32_t rank, const std::vector<BlockList>& lists) const {
  if (kind == BufferKind::kNone) return 0;
  if (kind == BufferKind::kOne) return BlockBytes(rank, rank);
  return lists.empty() ? sizes_->total() : EndOf(lists[rank]);
}

uint64_t BlockProgram::SendBytes(uint32_t rank) const {
  return BufferBytes(SendBuffer(regular_, rank, arguments_.root), rank, send_);
}

uint64_t BlockProgram::ReceiveBytes(uint32_t rank) const {
  return BufferBytes(ReceiveBuffer(regular_, rank, arguments_.root), rank, receive_);
}

uint32_t BlockProgram::SegmentsOf(uint64_t chunk) const {
  if (chunk < notes_chunks_) {
    const uint64_t chunk_bytes = ChunkBytesMax(*plan_);
    const uint64_t left = NotesBytes() - chunk * chunk_bytes;
    const uint64_t step = BlockSegmentBytes(*plan_);
    return static_cast<uint32_t>((std::min(left, chunk_bytes) + step - 1) / step);
  }
  chunk -= notes_chunks_;
  const bool has_notes = HasPairSizes(arguments_.collective);
  if (has_notes && chunk == 0) return 1;
  const uint64_t each = SegmentsPerChunk(*plan_);
  const uint64_t first = has_notes ? 1 + (chunk - 1) * each : chunk * each;
  return static_cast<uint32_t>(std::min(each, cutting_->segment_count() - first));
}

uint64_t BlockProgram::segment_count() const {
  uint64_t count = cutting_->segment_count();
  for (uint64_t chunk = 0; chunk < notes_chunks_; ++chunk) count += SegmentsOf(chunk);
  return count;
}

BlockCall BlockProgram::CallAt(NodeIndex node, std::vector<RankBuffers>* buffers) const {
  for (const Rank rank : shape_->RanksOf(node)) {
    RankBuffers& own = buffers->emplace_back();
    if (!send_.empty()) own = {&send_[rank.value()], &receive_[rank.value()]};
    if (by_rank_.empty() || regular_ == Collective::kReduceScatter) continue;
    (regular_ == Collective::kScatter ? own.send : own.receive) = &by_rank_;
  }
  return {.plan = plan_,
          .index = &index_,
          .sizes = &*sizes_,
          .node = node,
          .collective = regular_,
          .root = arguments_.root,
          .ranks = *buffers,
          .has_notes = HasPairSizes(arguments_.collective)};
}

absl::StatusOr<std::vector<NodeSequence>> BlockProgram::SequencesOf(uint64_t chunk, NodeIndex node) const {
  std::vector<NodeSequence> sequences;
  const uint32_t segments = SegmentsOf(chunk);
  if (chunk < notes_chunks_) {
    const uint32_t root_node = shape_->NodeOf(Rank(arguments_.root)).value();
    const auto local_ranks = static_cast<uint32_t>(shape_->RanksOf(node).size());
    const uint64_t step = BlockSegmentBytes(*plan_);
    const uint64_t chunk_bytes = ChunkBytesMax(*plan_);
    const uint64_t end = std::min(NotesBytes(), (chunk + 1) * chunk_bytes);
    for (uint32_t s = 0; s < segments; ++s) {
      const uint64_t at = chunk * chunk_bytes + s * step;
      sequences.push_back(ExpandNotes(*plan_, index_, node, root_node, local_ranks, {at, std::min(end, at + step)}));
    }
    return sequences;
  }
  chunk -= notes_chunks_;
  const bool has_notes = HasPairSizes(arguments_.collective);
  const uint64_t each = SegmentsPerChunk(*plan_);
  const uint64_t first = !has_notes ? chunk * each : chunk == 0 ? 0 : 1 + (chunk - 1) * each;
  std::vector<RankBuffers> buffers;
  const BlockCall call = CallAt(node, &buffers);
  for (uint32_t s = 0; s < segments; ++s) {
    ASSIGN_OR_RETURN(NodeSequence sequence, ExpandBlocks(call, cutting_->At(first + s)));
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

uint64_t BlockProgram::NotesBytes() const {
  if (notes_chunks_ > 0) return shape_->size() * sizeof(uint64_t);
  if (HasPairSizes(arguments_.collective)) return 2 * uint64_t{shape_->node_count()} * sizeof(PairNote);
  return 0;
}

std::vector<uint8_t> BlockProgram::NotesInTheEnd() const {
  std::vector<uint8_t> notes(notes_chunks_ > 0 ? NotesBytes() : 0);
  if (!notes.empty()) std::memcpy(notes.data(), counts_.by_rank.data(), notes.size());
  return notes;
}

std::vector<uint8_t> BlockProgram::NotesOf(NodeIndex node) const {
  if (notes_chunks_ > 0) {
    if (shape_->NodeOf(Rank(arguments_.root)) == node) return NotesInTheEnd();
    return std::vector<uint8_t>(NotesBytes());
  }
  std::vector<uint8_t> notes(NotesBytes());
  if (notes.empty()) return notes;
  std::vector<RankBuffers> buffers;
  const BlockCall call = CallAt(node, &buffers);
  for (uint32_t p = 0; p < shape_->node_count(); ++p) {
    PairNote note = NoteOf(call, p);
    note.bytes_max = pair_bytes_max_;
    std::memcpy(notes.data() + p * sizeof(note), &note, sizeof(note));
  }
  return notes;
}

}  // namespace copse::schedule
