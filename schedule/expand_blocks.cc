// SPDX-License-Identifier: Apache-2.0
//
// Implements the steps that block collectives share, and selects the expansion.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "schedule/block_expansion.h"

namespace copse::schedule {

void RunList::Add(Buffer from, Buffer to, uint64_t bytes) {
  // A longer run is split: the engine copies one run without interruption.
  for (; bytes > kRunBytesMax; bytes -= kRunBytesMax) {
    runs_.push_back({from, to, kRunBytesMax});
    from.offset += kRunBytesMax;
    to.offset += kRunBytesMax;
  }
  if (bytes == 0) return;
  if (!runs_.empty()) {
    BufferRun& last = runs_.back();
    if (last.bytes + bytes <= kRunBytesMax && Follows(last.from, from, last.bytes) &&
        Follows(last.to, to, last.bytes)) {
      last.bytes += bytes;
      return;
    }
  }
  runs_.push_back({from, to, bytes});
}

uint64_t BlockExpansion::Bytes(const Interval& interval) const {
  const uint32_t end = interval.begin + interval.count;
  const uint64_t begin = Clip(sizes_.PackedBegin(interval.begin));
  if (end <= n_) return Clip(sizes_.PackedBegin(end)) - begin;
  return slice_.bytes() - begin + Clip(sizes_.PackedBegin(end - n_));
}

void BlockExpansion::Deliver(uint32_t local, const Interval& interval, Buffer from, RunList* runs) const {
  ForEachRange(interval, [&](const BlockRange& range) {
    const bool own = own_ranks_[local].value() == range.rank && !call_.ranks[local].sends;
    if (!own) runs->Add(from, PlaceFrom(local, range.rank, range.offset), range.bytes);
    from.offset += range.bytes;
  });
}

void BlockExpansion::DeliverToAll(const Interval& interval, Buffer from, bool lands) {
  RunList runs;
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) Deliver(l, interval, from, &runs);
  lands ? out_.Land(kDown, runs.Take()) : Copy(&runs);
}

void BlockExpansion::DeliverReduced(Buffer from) {
  RunList runs;
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) {
    const uint32_t rank = own_ranks_[l].value();
    InSlice(sizes_.RankBegin(rank), sizes_.Of(rank), [&](uint64_t offset, uint64_t bytes) {
      Buffer source = from;
      source.offset += sizes_.RankBegin(rank) + offset - slice_.begin;
      runs.Add(source, {Place::kRankRecv, l, offset}, bytes);
    });
  }
  Copy(&runs);
}

void BlockExpansion::PackOwn(Buffer to, RunList* runs) const {
  ForEachRange(Interval{position_, 1}, [&](const BlockRange& range) {
    runs->Add(Sends(shape_.LocalIndexOf(Rank(range.rank)), send_base_ + range.offset), to, range.bytes);
    to.offset += range.bytes;
  });
}

std::vector<Buffer> BlockExpansion::OwnOperands() const {
  std::vector<Buffer> operands;
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) operands.push_back(Sends(l, slice_.begin));
  return operands;
}

void BlockExpansion::SendRuns(uint32_t peer, uint16_t phase, RunList* runs, uint64_t bytes) {
  std::vector<BufferRun> list = runs->Take();
  if (!Goes(bytes)) return;
  if (bytes == 0) return out_.SendTo(peer, phase, {}, 0);
  Buffer from{Place::kScratch};
  if (list.size() == 1) {
    from = list[0].from;
  } else {
    out_.CopyRuns(std::move(list));
  }
  out_.SendTo(peer, phase, from, static_cast<uint32_t>(bytes));
}

absl::StatusOr<NodeSequence> ExpandBlocks(const BlockCall& call, const Slice& slice) {
  if (!HasBlocks(call.collective) || IsIrregular(call.collective)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no block collective (collective=", static_cast<int>(call.collective), ")"));
  }
  if (IsScan(call.collective)) return ExpandScan(call, slice);
  if (FamilyOf(call.collective) == Family::kAlltoall) return ExpandAlltoall(call, slice);
  return call.plan->kind == PlanKind::kTree ? ExpandOnTree(call, slice) : ExpandOnCycle(call, slice);
}

}  // namespace copse::schedule
