// SPDX-License-Identifier: Apache-2.0
//
// Expands scan and exscan.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "schedule/block_expansion.h"

namespace copse::schedule {
namespace {

class PrefixExpansion : BlockExpansion {
 public:
  using BlockExpansion::BlockExpansion;

  absl::StatusOr<NodeSequence> Run() {
    if (FoldsAll(plan_)) {
      RETURN_IF_ERROR(ByGathering());
    } else if (DistancesOf(plan_).size() <= 1) {
      ByChain();
    } else {
      ByDoubling();
    }
    return End();
  }

 private:
  // These are offsets of the second and of the last third of scratch (kScanScratchBytes). Sums and prefixes lie there,
  // while the first third has the chunk's segments.
  static constexpr uint64_t kOtherHalf = kScanSegmentsMax * uint64_t{kScanSegmentBytesMax};
  static constexpr uint64_t kThird = 2 * kOtherHalf;

  Buffer Result(uint32_t local) const { return {Place::kRankRecv, local, slice_.begin}; }
  // Reduces `before` and `own` to `running`, or copies `own` there if the place of `before` is kNone.
  void Add(Buffer before, Buffer own, Buffer running) {
    if (before.place == Place::kNone) return CopySlice(own, running);
    out_.Reduce({before, own}, running, SliceBytes());
  }
  // Delivers the prefixes to the local ranks. `before` is the sum over all ranks before this node's (kNone: there are
  // none); the sum that includes this node's ranks is left in `running`.
  void DeliverPrefixes(Buffer before, Buffer running);
  void ByChain();
  void ByDoubling();
  absl::Status ByGathering();
};

void PrefixExpansion::DeliverPrefixes(Buffer before, Buffer running) {
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) {
    const Buffer own = Sends(l, slice_.begin);
    if (!inclusive() && before.place != Place::kNone) {
      // In place, the result would overwrite a contribution that is still to be added.
      const Buffer sum{Place::kScratch, 0, kOtherHalf};
      Add(before, own, sum);
      RunList runs;
      runs.Add(before, Result(l), slice_.bytes());
      runs.Add(sum, running, slice_.bytes());
      Copy(&runs);
    } else {
      Add(before, own, running);
      if (inclusive()) CopySlice(running, Result(l));
    }
    before = running;
  }
}

void PrefixExpansion::ByChain() {
  Buffer before;
  if (position_ > 0) {
    out_.RecvFrom(Before(1), kDown, SliceBytes());
    before = {Place::kCell, Before(1)};
  }
  out_.Wait(kDown);
  const Buffer running{Place::kScratch};
  DeliverPrefixes(before, running);
  if (position_ + 1 < n_) out_.SendTo(At(1), kDown, running, SliceBytes());
}

// After the rounds of distances 1 to s, `window` is the sum over the last 2 s nodes up to and with this one, and
// `before` is the sum over these nodes without this one.
void PrefixExpansion::ByDoubling() {
  out_.Wait(0);
  const Buffer window{Place::kScratch};
  if (own_ranks_.size() > 1) {
    out_.Reduce(OwnOperands(), window, SliceBytes());
  } else {
    // The value is copied, since a logical operation would turn it into 0 or 1.
    CopySlice(Sends(0, slice_.begin), window);
  }
  Buffer before;
  uint16_t round = 0;
  for (const uint32_t s : DistancesOf(plan_)) {
    ++round;
    if (position_ + s < n_) out_.SendTo(At(s), round, window, SliceBytes());
    if (position_ < s) continue;
    const Buffer cell{Place::kCell, Before(s)};
    out_.RecvFrom(Before(s), round, SliceBytes());
    out_.Wait(round);
    const Buffer sum{Place::kScratch, 0, kThird};
    if (before.place == Place::kNone) {
      CopySlice(cell, sum);
    } else {
      out_.Reduce({cell, before}, sum, SliceBytes());
    }
    before = sum;
    out_.Reduce({cell, window}, window, SliceBytes());
  }
  DeliverPrefixes(before, window);
}

// Gathers all contributions at every node, which reduces them in rank order and delivers the prefixes of its own ranks.
absl::Status PrefixExpansion::ByGathering() {
  const uint64_t each = slice_.bytes();
  if (each == 0) {
    out_.Wait(kUp);
    return absl::OkStatus();
  }
  if (each * shape_.size() > kScanSegmentBytesMax) {
    return absl::UnimplementedError(
        absl::StrCat("scan: ranks' order is not the nodes', and they are too many (ranks=", shape_.size(),
                     ", bytes=", each, ", limit=", kScanSegmentBytesMax, " bytes together)"));
  }
  // All ranks' contributions to the slice are gathered as equal blocks.
  const BlockSizes equal(&order_, &shape_, each);
  BlockCall gather = call_;
  gather.sizes = &equal;
  auto [packed, steps] = GatherEverywhere(gather, {0, equal.total()}, slice_.begin);
  out_ = std::move(steps);
  // The gathered contributions may lie in scratch, so the sums lie behind them.
  const Buffer running{Place::kScratch, 0, kOtherHalf};
  Buffer before;
  for (uint32_t r = 0; r < shape_.size(); ++r) {
    const uint32_t l = shape_.LocalIndexOf(Rank(r));
    const uint32_t position = order_.PositionOf(shape_.NodeOf(Rank(r)).value());
    Buffer own = packed;
    own.offset += equal.PackedBegin(position) + l * each;
    if (IsHere(r) && !inclusive() && before.place != Place::kNone) CopySlice(before, Result(l));
    Add(before, own, running);
    if (IsHere(r) && inclusive()) CopySlice(running, Result(l));
    before = running;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NodeSequence> ExpandScan(const BlockCall& call, const Slice& slice) {
  return PrefixExpansion(call, slice).Run();
}

}  // namespace copse::schedule
