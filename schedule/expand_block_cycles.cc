// SPDX-License-Identifier: Apache-2.0
//
// Expands allgather and reduce_scatter along cycles.
#include <algorithm>
#include <utility>

#include "schedule/block_expansion.h"
#include "schedule/cycle_tree.h"

namespace copse::schedule {
namespace {

class CycleExpansion : BlockExpansion {
 public:
  using BlockExpansion::BlockExpansion;

  NodeSequence Run() {
    if (call_.collective == Collective::kReduceScatter) {
      ReduceScatter();
    } else if (DistancesOf(plan_).size() <= 1) {
      AllgatherByRing();
    } else {
      AllgatherByDoubling();
    }
    return End();
  }

 private:
  Interval Preceding(uint32_t from, uint32_t count) const { return {(from + n_ - count + 1) % n_, count}; }
  void AllgatherByRing();
  void AllgatherByDoubling();
  void ReduceScatter();
};

// Sends the segment from its owner around the ring.
void CycleExpansion::AllgatherByRing() {
  if (slice_.bytes() == 0) return out_.Wait(kDown);
  uint32_t owner = 0;
  ForEachRange(slice_.begin, slice_.begin + 1,
               [&](const BlockRange& range) { owner = order_.PositionOf(shape_.NodeOf(Rank(range.rank)).value()); });
  const uint32_t distance = (position_ + n_ - owner) % n_;
  Buffer from{Place::kScratch};
  if (distance == 0) {
    out_.Wait(kDown);
    RunList runs;
    PackOwn(from, &runs);
    if (runs.runs().size() == 1) {
      from = runs.runs()[0].from;
    } else {
      Copy(&runs);
    }
  } else {
    from = {Place::kCell, Before(1)};
    out_.RecvFrom(Before(1), kDown, SliceBytes());
    out_.Wait(kDown);
  }
  const bool is_last = distance + 1 == n_;
  if (!is_last) out_.SendTo(At(1), kDown, from, SliceBytes());
  DeliverToAll({owner, 1}, from, is_last && distance > 0 && IsPut(slice_.bytes()));
}

// After the rounds of distances 1, 2, ..., s a node has in scratch the blocks of itself and of the 2 s - 1 nodes before
// it, by falling position.
void CycleExpansion::AllgatherByDoubling() {
  out_.Wait(0);
  RunList runs;
  PackOwn({Place::kScratch}, &runs);
  Copy(&runs);
  uint16_t round = 0;
  for (const uint32_t s : DistancesOf(plan_)) {
    ++round;
    const uint32_t count = std::min(s, n_ - s);
    const uint64_t sends = Bytes(Preceding(position_, count));
    const uint32_t peer = (position_ + n_ - s) % n_;
    const uint64_t receives = Bytes(Preceding(peer, count));
    if (sends > 0) out_.SendTo(At(s), round, {Place::kScratch}, static_cast<uint32_t>(sends));
    if (receives == 0) continue;
    out_.RecvFrom(Before(s), round, receives);
    out_.Wait(round);
    runs.Add({Place::kCell, Before(s)}, {Place::kScratch, 0, Bytes(Preceding(position_, s))}, receives);
    IsPut(receives) ? out_.Land(round, runs.Take()) : Copy(&runs);
  }
  uint64_t at = 0;
  for (uint32_t d = 0; d < n_; ++d) {
    const Interval interval{(position_ + n_ - d) % n_, 1};
    for (uint32_t l = 0; l < own_ranks_.size(); ++l) Deliver(l, interval, {Place::kScratch, 0, at}, &runs);
    at += Bytes(interval);
  }
  Copy(&runs);
}

// Reduces the segment along its owner's tree (CycleTreeAt): every node sends the sum over its subtree to its parent.
void CycleExpansion::ReduceScatter() {
  if (slice_.bytes() == 0) return out_.Wait(kUp);
  uint32_t owner_rank = 0;
  uint32_t high = shape_.size();
  while (high - owner_rank > 1) {
    const uint32_t middle = owner_rank + (high - owner_rank) / 2;
    (sizes_.RankBegin(middle) <= slice_.begin ? owner_rank : high) = middle;
  }
  const uint32_t owner = order_.PositionOf(shape_.NodeOf(Rank(owner_rank)).value());
  const CycleTree tree = CycleTreeAt(DistancesOf(plan_), n_, (owner + n_ - position_) % n_);
  std::vector<Buffer> operands;
  for (const uint32_t step : tree.children) {
    out_.RecvFrom(Before(step), kUp, SliceBytes());
    operands.push_back({Place::kCell, Before(step)});
  }
  const std::vector<Buffer> own = OwnOperands();
  operands.insert(operands.end(), own.begin(), own.end());
  out_.Wait(kUp);
  const Buffer result = out_.Combine(std::move(operands), SliceBytes());
  if (tree.parent != 0) return out_.SendTo(At(tree.parent), kUp, result, SliceBytes());
  DeliverReduced(result);
}

}  // namespace

NodeSequence ExpandOnCycle(const BlockCall& call, const Slice& slice) { return CycleExpansion(call, slice).Run(); }

}  // namespace copse::schedule
