// SPDX-License-Identifier: Apache-2.0
#include "schedule/blocks.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace copse::schedule {
namespace {

// Returns whether each segment has an owner, a node that is its only source or its only destination.
bool HasOwners(const Plan& plan) {
  if (plan.kind != PlanKind::kCirculant) return false;
  return plan.collective == Collective::kReduceScatter ||
         (plan.collective == Collective::kAllgather && DistancesOf(plan).size() <= 1);
}

}  // namespace

PackedOrder::PackedOrder(const ShapeIndex& shape, const Plan& plan, const TreeIndex& index)
    : node_at_(plan.node_count), position_(plan.node_count), ranks_before_(plan.node_count + 1, 0) {
  for (uint32_t v = 0; v < plan.node_count; ++v) {
    if (plan.kind == PlanKind::kCirculant) {
      node_at_[v] = CycleOf(plan)[v];
    } else {
      node_at_[plan.kind == PlanKind::kTree ? index.Enter(v) : v] = v;
    }
  }
  for (uint32_t p = 0; p < plan.node_count; ++p) {
    position_[node_at_[p]] = p;
    ranks_before_[p + 1] = ranks_before_[p] + static_cast<uint32_t>(shape.RanksOf(NodeIndex(node_at_[p])).size());
  }
}

BlockSizes::BlockSizes(const PackedOrder* order, const ShapeIndex* shape, uint64_t each)
    : order_(order), shape_(shape), each_(each) {}

BlockSizes::BlockSizes(const PackedOrder* order, const ShapeIndex* shape, absl::Span<const uint64_t> by_rank)
    : order_(order), shape_(shape), by_rank_(by_rank.begin(), by_rank.end()) {
  CHECK(by_rank.size() == shape->size());
  packed_begin_.assign(order->node_count() + 1, 0);
  for (uint32_t p = 0; p < order->node_count(); ++p) {
    packed_begin_[p + 1] = packed_begin_[p];
    for (const Rank r : shape->RanksOf(NodeIndex(order->NodeAt(p)))) packed_begin_[p + 1] += by_rank_[r.value()];
  }
  rank_begin_.assign(by_rank.size() + 1, 0);
  std::partial_sum(by_rank_.begin(), by_rank_.end(), rank_begin_.begin() + 1);
}

uint32_t PassedOnMax(uint32_t nodes) {
  uint32_t most = 1;
  for (uint32_t bit = 1; bit < nodes; bit *= 2) {
    const uint32_t whole = nodes / (2 * bit) * bit;
    const uint32_t rest = nodes % (2 * bit);
    most = std::max(most, whole + (rest > bit ? rest - bit : 0));
  }
  return most;
}

uint32_t BlockSegmentBytes(const Plan& plan) {
  return plan.segment_bytes == 0 ? SegmentBytesMax(plan.collective) : plan.segment_bytes;
}

uint32_t SegmentsPerChunk(const Plan& plan) {
  const uint32_t count = SegmentCount(plan, ChunkBytesMax(plan));
  const bool scans = IsScan(plan.collective);
  return scans ? std::min(count, kScanSegmentsMax) : count;
}

uint64_t PairBytesMax(const ShapeIndex& shape, uint64_t block_bytes) {
  uint64_t most = 0;
  for (uint32_t v = 0; v < shape.node_count(); ++v) most = std::max<uint64_t>(most, shape.RanksOf(NodeIndex(v)).size());
  return most * most * block_bytes;
}

Cutting::Cutting(const Plan& plan, const BlockSizes& sizes, uint64_t message_bytes, uint64_t pair_bytes_max) {
  step_ = BlockSegmentBytes(plan);
  may_meet_ = plan.collective == Collective::kGather || plan.collective == Collective::kScatter ||
              plan.collective == Collective::kAlltoall;
  switch (plan.collective) {
    case Collective::kAlltoall:
      total_ = pair_bytes_max;
      if (PassesOn(plan)) step_ = std::max<uint64_t>(step_ / PassedOnMax(plan.node_count), 1);
      break;
    case Collective::kScan:
    case Collective::kExscan:
      total_ = message_bytes;
      if (FoldsAll(plan)) {
        step_ = std::max(step_ / sizes.shape().size() / kSegmentUnitBytes, uint64_t{1}) * uint64_t{kSegmentUnitBytes};
      }
      break;
    default:
      total_ = sizes.total();
      break;
  }
  if (HasOwners(plan) && plan.collective == Collective::kAllgather) {
    for (uint32_t p = 0; p <= plan.node_count; ++p) part_begin_.push_back(sizes.PackedBegin(p));
  }
  if (HasOwners(plan) && plan.collective == Collective::kReduceScatter) {
    const ShapeIndex& shape = sizes.shape();
    for (uint32_t r = 0; r < shape.size(); ++r) {
      if (r == 0 || shape.NodeOf(Rank(r)) != shape.NodeOf(Rank(r - 1))) part_begin_.push_back(sizes.RankBegin(r));
    }
    part_begin_.push_back(total_);
  }
  if (part_begin_.empty()) {
    count_ = std::max<uint64_t>(1, (total_ + step_ - 1) / step_);
    return;
  }
  // Each round takes one segment of every part that has one left, longest parts first.
  const size_t parts = part_begin_.size() - 1;
  const auto rounds_of = [&](uint32_t p) { return (part_begin_[p + 1] - part_begin_[p] + step_ - 1) / step_; };
  by_length_.resize(parts);
  std::iota(by_length_.begin(), by_length_.end(), 0);
  std::stable_sort(by_length_.begin(), by_length_.end(),
                   [&](uint32_t a, uint32_t b) { return rounds_of(a) > rounds_of(b); });
  count_ = 0;
  uint64_t round = 0;
  for (size_t left = parts; left > 0; --left) {
    const uint64_t end = rounds_of(by_length_[left - 1]);
    if (end == round) continue;
    stages_.push_back({.first_segment = count_, .first_round = round, .parts = left});
    count_ += (end - round) * left;
    round = end;
  }
  data_segments_ = count_;
  count_ = std::max<uint64_t>(1, count_);
}

Slice Cutting::At(uint64_t segment) const {
  if (part_begin_.empty()) {
    const uint64_t begin = std::min(total_, segment * step_);
    return {begin, std::min(total_, begin + step_), may_meet_ && MeetIn(segment)};
  }
  if (segment >= data_segments_) return {total_, total_};
  const auto after = std::upper_bound(stages_.begin(), stages_.end(), segment,
                                      [](uint64_t s, const Stage& stage) { return s < stage.first_segment; });
  const Stage& stage = *(after - 1);
  const uint64_t in_stage = segment - stage.first_segment;
  const uint32_t part = by_length_[in_stage % stage.parts];
  const uint64_t begin = part_begin_[part] + (stage.first_round + in_stage / stage.parts) * step_;
  return {begin, std::min(part_begin_[part + 1], begin + step_)};
}

}  // namespace copse::schedule
