// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/long_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::daemon {

bool LongCall::Needed(const CallArguments& arguments) {
  return HasBlocks(arguments.collective) || schedule::FoldsInOrder(arguments) ||
         (arguments.collective != Collective::kBarrier && arguments.bytes() > schedule::kMessageBytesMax);
}

LongCall::LongCall(const schedule::ShapeIndex* shape, const schedule::Plan* plan, const PlanIndex* index,
                   NodeIndex self, CallSeq first, const CallArguments& arguments)
    : shape_(shape),
      plan_(plan),
      index_(index),
      self_(self),
      first_(first),
      regular_(PlanCollective(arguments.collective)),
      folds_(schedule::FoldsInOrder(arguments)),
      progress_(shape->RanksOf(self).size()),
      buffers_(shape->RanksOf(self).size()),
      posts_(shape->RanksOf(self).size(), CallPost{.arguments = arguments}) {
  // schedule::PlanFor chooses a plan for long messages for long calls, and the plan for the longest blocks where not
  // all ranks know the counts.
  if (!blocks() || RootTells()) CHECK_GE(plan->bytes_max, schedule::kMessageBytesMax);
  chunk_bytes_ = schedule::ChunkBytesMax(*plan);
  if (!blocks()) {
    data_chunks_ = (arguments.bytes() + chunk_bytes_ - 1) / chunk_bytes_;
    return;
  }
  if (RootTells()) {
    notes_.assign(uint64_t{shape->size()} * sizeof(uint64_t), 0);
    notes_chunks_ = (notes_.size() + chunk_bytes_ - 1) / chunk_bytes_;
    return;
  }
  if (HasPairSizes(arguments.collective)) {
    sizes_.emplace(&index_->order, shape_, uint64_t{0});
    notes_.assign(2 * uint64_t{shape->node_count()} * sizeof(schedule::PairNote), 0);
    data_chunks_ = 1;
    if (!PairsBounded()) return;
    pair_bytes_max_ = arguments.bytes();
    is_compared_late_ = true;
    CutPairs();
    return;
  }
  if (IsIrregular(arguments.collective)) return;  // Join brings the counts
  sizes_.emplace(&index_->order, shape_, arguments.bytes());
  Cut();
}

bool LongCall::RootTells() const {
  return IsIrregular(arguments().collective) && HasRoot(arguments().collective) &&
         (arguments().options & kCountsKnown) == 0;
}

bool LongCall::PairsBounded() const {
  return HasPairSizes(arguments().collective) && (arguments().options & kPairsBounded) != 0;
}

// Divides an alltoallv, once pair_bytes_max_ is the maximum of all nodes. Its first chunk is one segment.
void LongCall::CutPairs() {
  cutting_.emplace(*plan_, *sizes_, 0, pair_bytes_max_);
  const uint64_t each = schedule::SegmentsPerChunk(*plan_);
  data_chunks_ = 1 + (cutting_->segment_count() - 1 + each - 1) / each;
}

void LongCall::SetSizes(const BlockList& list) {
  std::vector<uint64_t> bytes;
  bytes.reserve(list.size());
  for (const Block& block : list) bytes.push_back(block.bytes);
  sizes_.emplace(&index_->order, shape_, bytes);
  Cut();
}

void LongCall::Cut() {
  if (folds_) {
    const uint64_t bytes = regular_ == Collective::kReduceScatter ? sizes_->total() : arguments().bytes();
    fold_.emplace(*plan_, *shape_, regular_, bytes);
    notes_.assign(fold_->notes_bytes(), 0);
    return;
  }
  if (regular_ == Collective::kAlltoall && arguments().collective == regular_) {
    pair_bytes_max_ = schedule::PairBytesMax(*shape_, arguments().bytes());
  }
  cutting_.emplace(*plan_, *sizes_, arguments().bytes(), pair_bytes_max_);
  const uint32_t each = schedule::SegmentsPerChunk(*plan_);
  data_chunks_ = (cutting_->segment_count() + each - 1) / each;
}

void LongCall::Join(uint32_t local, const CallPost& post) {
  posts_[local] = post;
  progress_.Join(local);
  buffers_[local] = {post.send_blocks.get(), post.receive_blocks.get()};
  const bool scatters = regular_ == Collective::kScatter || regular_ == Collective::kReduceScatter;
  const BlockList* list = scatters ? post.send_blocks.get() : post.receive_blocks.get();
  const bool brings = IsIrregular(arguments().collective) && !sizes_ && !RootTells() && list != nullptr;
  if (brings) SetSizes(*list);
}

Chunk LongCall::ChunkAt(uint64_t index) const {
  if (fold_) {
    const schedule::FoldChunk chunk = fold_->At(index);
    return {.results = chunk.results,
            .offset = chunk.notes_offset,
            .first_segment = chunk.first_segment,
            .segments = chunk.segments};
  }
  if (index < notes_chunks_) {
    const uint64_t offset = index * chunk_bytes_;
    return {.notes = true, .offset = offset, .bytes = std::min<uint64_t>(chunk_bytes_, notes_.size() - offset)};
  }
  index -= notes_chunks_;
  if (!blocks()) {
    const uint64_t offset = index * chunk_bytes_;
    return {.offset = offset, .bytes = std::min(chunk_bytes_, arguments().bytes() - offset)};
  }
  // The first chunk of an alltoallv is one segment, with the metadata that says how many follow.
  const bool alone = HasPairSizes(arguments().collective);
  if (alone && index == 0) return {.first_segment = 0, .segments = 1};
  const uint64_t each = schedule::SegmentsPerChunk(*plan_);
  const uint64_t first = alone ? 1 + (index - 1) * each : index * each;
  return {.first_segment = first, .segments = static_cast<uint32_t>(std::min(each, cutting_->segment_count() - first))};
}

schedule::BlockCall LongCall::View() {
  return {.plan = plan_,
          .index = &index_->tree,
          .sizes = &*sizes_,
          .node = self_,
          .collective = regular_,
          .root = arguments().root,
          .ranks = buffers_,
          .has_notes = HasPairSizes(arguments().collective)};
}

bool LongCall::PassesBy(uint64_t index) const {
  if (!HasPairSizes(arguments().collective) || index == 0) return false;
  const Chunk chunk = ChunkAt(index);
  for (uint32_t s = 0; s < chunk.segments; ++s) {
    if (schedule::MeetIn(chunk.first_segment + s)) return false;
  }
  return chunk.first_segment * schedule::BlockSegmentBytes(*plan_) >= own_pair_bytes_max_;
}

absl::StatusOr<std::vector<schedule::NodeSequence>> LongCall::SequencesOf(uint64_t index) {
  const Chunk chunk = ChunkAt(index);
  std::vector<schedule::NodeSequence> sequences;
  if (chunk.notes) {
    const NodeIndex root_node = shape_->NodeOf(Rank(arguments().root));
    if (index == 0 && root_node == self_) {
      const CallPost& root = posts_[shape_->LocalIndexOf(Rank(arguments().root))];
      const BlockList* list = regular_ == Collective::kScatter ? root.send_blocks.get() : root.receive_blocks.get();
      if (list == nullptr || list->size() != shape_->size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            AbslView(CollectiveName(arguments().collective)),
            ": the root gave no counts (counts=", list == nullptr ? 0 : list->size(), ", ranks=", shape_->size(), ")"));
      }
      for (size_t r = 0; r < list->size(); ++r) std::memcpy(notes_.data() + 8 * r, &(*list)[r].bytes, 8);
    }
    const uint64_t end = chunk.offset + chunk.bytes;
    const uint64_t step = schedule::BlockSegmentBytes(*plan_);
    for (uint64_t at = chunk.offset; at < end; at += step) {
      sequences.push_back(schedule::ExpandNotes(*plan_, index_->tree, self_, root_node.value(),
                                                static_cast<uint32_t>(posts_.size()), {at, std::min(end, at + step)}));
    }
    return sequences;
  }
  const schedule::BlockCall view = View();
  if (fold_) {
    for (uint32_t s = 0; s < chunk.segments; ++s) {
      ASSIGN_OR_RETURN(schedule::NodeSequence sequence,
                       schedule::ExpandFold({&view, &*fold_}, chunk.first_segment + s, chunk.results,
                                            chunk.offset + s * fold_->slice_bytes()));
      sequences.push_back(std::move(sequence));
    }
    return sequences;
  }
  if (view.has_notes && index == 0) {
    // The metadata for each node gives the bytes that it gets from here, and the most bytes that any node gets.
    const uint32_t n = shape_->node_count();
    std::vector<schedule::PairNote> notes(n);
    uint64_t sent_max = 0;
    for (uint32_t p = 0; p < n; ++p) {
      notes[p] = schedule::NoteOf(view, p);
      sent_max = std::max(sent_max, notes[p].bytes);
      own_pair_bytes_max_ = std::max({own_pair_bytes_max_, sent_max, schedule::NoteExpected(view, p).bytes});
    }
    if (PairsBounded() && own_pair_bytes_max_ > pair_bytes_max_) {
      return absl::InvalidArgumentError(absl::StrCat("alltoallv: more between two nodes than the ranks said (bytes=",
                                                     own_pair_bytes_max_, ", limit=", pair_bytes_max_, ")"));
    }
    pair_bytes_max_ = std::max(pair_bytes_max_, sent_max);
    for (schedule::PairNote& note : notes) note.bytes_max = sent_max;
    std::memcpy(notes_.data(), notes.data(), n * sizeof(schedule::PairNote));
  }
  for (uint32_t s = 0; s < chunk.segments; ++s) {
    const uint64_t segment = chunk.first_segment + s;
    const uint64_t step = schedule::BlockSegmentBytes(*plan_);
    const schedule::Slice slice = view.has_notes
                                      ? schedule::Slice{segment * step, (segment + 1) * step, schedule::MeetIn(segment)}
                                      : cutting_->At(segment);
    ASSIGN_OR_RETURN(schedule::NodeSequence sequence, schedule::ExpandBlocks(view, slice));
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

absl::Status LongCall::CheckOwnBlocks() const {
  const absl::Span<const Rank> own = shape_->RanksOf(self_);
  for (uint32_t from = 0; from < own.size(); ++from) {
    for (uint32_t to = 0; to < own.size(); ++to) {
      const uint64_t sent = (*buffers_[from].send)[own[to].value()].bytes;
      const uint64_t awaited = (*buffers_[to].receive)[own[from].value()].bytes;
      if (sent == awaited) continue;
      return absl::InvalidArgumentError(absl::StrCat("alltoallv: counts differ (sender=", own[from].value(),
                                                     ", receiver=", own[to].value(), ", bytes=", sent,
                                                     ", counted=", awaited, ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status LongCall::OnChunkOver(uint64_t index) {
  if (fold_) {
    fold_->OnOver(index);
    return absl::OkStatus();
  }
  if (complete() && (index > 0 || !is_compared_late_)) return absl::OkStatus();
  const std::string name(CollectiveName(arguments().collective));
  if (RootTells()) {
    if (index + 1 < notes_chunks_) return absl::OkStatus();
    std::vector<uint64_t> bytes(shape_->size());
    std::memcpy(bytes.data(), notes_.data(), notes_.size());
    const absl::Span<const Rank> own = shape_->RanksOf(self_);
    uint64_t total = 0;
    for (const uint64_t b : bytes) {
      if (b > schedule::kCallBytesMax || (total += b) > schedule::kCallBytesMax) {
        return absl::InvalidArgumentError(absl::StrCat(name, ": counts beyond all bounds (bytes=", b,
                                                       ", limit=", schedule::kCallBytesMax, " together)"));
      }
    }
    for (uint32_t l = 0; l < own.size(); ++l) {
      const uint64_t given = regular_ == Collective::kScatter ? posts_[l].receive_bytes : posts_[l].send_bytes;
      if (given == bytes[own[l].value()]) continue;
      return absl::InvalidArgumentError(absl::StrCat(name, ": counts differ (rank=", own[l].value(), ", bytes=", given,
                                                     ", root=", arguments().root, ", counted=", bytes[own[l].value()],
                                                     ")"));
    }
    sizes_.emplace(&index_->order, shape_, bytes);
    Cut();
    return absl::OkStatus();
  }
  // alltoallv: compares the counts of this node's ranks with each other, and with those of the other nodes.
  RETURN_IF_ERROR(CheckOwnBlocks());
  const schedule::BlockCall view = View();
  const uint32_t n = shape_->node_count();
  for (uint32_t p = 0; p < n; ++p) {
    const uint32_t node = index_->order.NodeAt(p);
    if (node == self_.value()) continue;
    schedule::PairNote heard;
    std::memcpy(&heard, notes_.data() + (n + p) * sizeof(heard), sizeof(heard));
    const schedule::PairNote expected = schedule::NoteExpected(view, p);
    if (heard.bytes != expected.bytes || heard.counts_hash != expected.counts_hash) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": counts of two nodes differ, named by their first ranks (sender=",
                       shape_->RanksOf(NodeIndex(node))[0].value(), ", receiver=", shape_->RanksOf(self_)[0].value(),
                       ", bytes=", heard.bytes, ", counted=", expected.bytes, ")"));
    }
    if (heard.bytes_max > schedule::kCallBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": counts beyond all bounds (bytes=", heard.bytes_max,
                                                     ", limit=", schedule::kCallBytesMax, " between two nodes)"));
    }
    pair_bytes_max_ = std::max(pair_bytes_max_, heard.bytes_max);
  }
  if (!complete()) CutPairs();
  is_compared_late_ = false;
  return absl::OkStatus();
}

}  // namespace copse::daemon
