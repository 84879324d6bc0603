// SPDX-License-Identifier: Apache-2.0
//
// The parts that all block collectives share, and the choice of the expansion.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "schedule/block_expansion.h"
#include "schedule/blocks.h"

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
    CopyRun& last = runs_.back();
    if (last.bytes + bytes <= kRunBytesMax && Follows(last.from, from, last.bytes) &&
        Follows(last.to, to, last.bytes)) {
      last.bytes += bytes;
      return;
    }
  }
  runs_.push_back({from, to, bytes});
}

absl::StatusOr<NodeSequence> BlockExpansion::Run() {
  switch (call_.collective) {
    case Collective::kGather:
      Gather();
      break;
    case Collective::kScatter:
      Scatter();
      break;
    case Collective::kAllgather:
      if (plan_.kind == PlanKind::kTree) {
        AllgatherByTree();
      } else if (DistancesOf(plan_).size() <= 1) {
        AllgatherByRing();
      } else {
        AllgatherByDoubling();
      }
      break;
    case Collective::kReduceScatter:
      if (plan_.kind == PlanKind::kCirculant) {
        ReduceScatterOnCycle();
      } else {
        ReduceScatterByPlan();
      }
      break;
    case Collective::kScan:
    case Collective::kExscan:
      if (FoldsAll(plan_)) {
        RETURN_IF_ERROR(ScanByFolding());
      } else if (DistancesOf(plan_).size() <= 1) {
        ScanByChain();
      } else {
        ScanByDoubling();
      }
      break;
    case Collective::kAlltoall:
      if (!PassesOn(plan_)) {
        AlltoallByPairs();
      } else if (call_.has_notes) {
        return absl::InvalidArgumentError("alltoallv: who passes on others' blocks does not know how long they are");
      } else {
        AlltoallByDoubling();
      }
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("no block collective (collective=", static_cast<int>(call_.collective), ")"));
  }
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) out_.Release(l);
  return out_.End();
}

uint64_t BlockExpansion::Bytes(const Interval& interval) const {
  const uint32_t end = interval.begin + interval.count;
  const uint64_t begin = Clip(sizes_.PackedBegin(interval.begin));
  if (end <= n_) return Clip(sizes_.PackedBegin(end)) - begin;
  return slice_.bytes() - begin + Clip(sizes_.PackedBegin(end - n_));
}

BlockExpansion::Interval BlockExpansion::Below(uint32_t node, uint32_t towards) const {
  const TreeIndex& index = *call_.index;
  if (towards == kNobody) return {0, n_};
  if (index.Parent(node) == towards) return {index.Enter(node), index.Leave(node) - index.Enter(node)};
  // Seen from below, the link leads to all nodes except those below `towards`.
  const uint32_t enter = index.Enter(towards);
  const uint32_t leave = index.Leave(towards);
  return {leave % n_, n_ - (leave - enter)};
}

Buffer BlockExpansion::SendsTo(uint32_t local, const Piece& piece) const {
  const BlockList* list = call_.ranks[local].send;
  const uint64_t base = list != nullptr ? (*list)[piece.rank].offset : piece.rank * sizes_.Of(piece.rank);
  return {Place::kRankSend, local, base + piece.offset};
}

Buffer BlockExpansion::ReceivesFrom(uint32_t local, const Piece& piece) const {
  const BlockList* list = call_.ranks[local].receive;
  const uint64_t base = list != nullptr ? (*list)[piece.rank].offset : piece.rank * sizes_.Of(piece.rank);
  return {Place::kRankRecv, local, base + piece.offset};
}

void BlockExpansion::Deliver(uint32_t local, const Interval& interval, Buffer from, RunList* runs) const {
  ForEachPiece(interval, [&](const Piece& piece) {
    const bool own = own_ranks_[local].value() == piece.rank && !call_.ranks[local].sends;
    if (!own) runs->Add(from, ReceivesFrom(local, piece), piece.bytes);
    from.offset += piece.bytes;
  });
}

void BlockExpansion::DeliverToAll(const Interval& interval, Buffer from) {
  RunList runs;
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) Deliver(l, interval, from, &runs);
  out_.CopyRuns(runs.Take());
}

void BlockExpansion::LandAtAll(const Interval& interval, Buffer from, uint16_t phase) {
  RunList runs;
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) Deliver(l, interval, from, &runs);
  out_.Land(phase, runs.Take());
}

void BlockExpansion::DeliverReduced(Buffer from) {
  RunList runs;
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) {
    const uint64_t begin = sizes_.RankBegin(own_ranks_[l].value());
    const uint64_t end = begin + sizes_.Of(own_ranks_[l].value());
    const uint64_t low = std::max(begin, slice_.begin);
    const uint64_t high = std::min(end, slice_.end);
    if (low >= high) continue;
    Buffer source = from;
    source.offset += low - slice_.begin;
    runs.Add(source, {Place::kRankRecv, l, low - begin}, high - low);
  }
  out_.CopyRuns(runs.Take());
}

void BlockExpansion::PackOwn(Buffer to, RunList* runs) const {
  ForEachPiece(Interval{position_, 1}, [&](const Piece& piece) {
    runs->Add(Sends(shape_.LocalIndexOf(Rank(piece.rank)), send_base_ + piece.offset), to, piece.bytes);
    to.offset += piece.bytes;
  });
}

std::vector<Buffer> BlockExpansion::OwnOperands() const {
  std::vector<Buffer> operands;
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) operands.push_back(Sends(l, slice_.begin));
  return operands;
}

void BlockExpansion::SendRuns(uint32_t peer, uint16_t phase, RunList* runs, uint64_t bytes) {
  if (!Goes(bytes)) return;
  if (bytes == 0) return out_.SendTo(peer, phase, {}, 0);
  if (runs->runs().size() == 1) {
    out_.SendTo(peer, phase, runs->runs()[0].from, static_cast<uint32_t>(bytes));
    return;
  }
  out_.CopyRuns(runs->Take());
  out_.SendTo(peer, phase, {Place::kScratch}, static_cast<uint32_t>(bytes));
}

absl::StatusOr<NodeSequence> ExpandBlocks(const BlockCall& call, const Slice& slice) {
  return BlockExpansion(call, slice).Run();
}

}  // namespace copse::schedule
