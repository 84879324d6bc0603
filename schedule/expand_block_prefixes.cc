// SPDX-License-Identifier: Apache-2.0
//
// Expansions of scan and exscan.
#include "absl/strings/str_cat.h"
#include "schedule/block_expansion.h"

namespace copse::schedule {

void BlockExpansion::DeliverPrefixes(Buffer before, Buffer running) {
  for (uint32_t l = 0; l < own_ranks_.size(); ++l) {
    const Buffer own = Sends(l, slice_.begin);
    const Buffer result{Place::kRankRecv, l, slice_.begin};
    RunList runs;
    if (!inclusive() && before.place != Place::kNone) {
      // In place, the result would overwrite a contribution that is still to be added.
      out_.Reduce({before, own}, {Place::kScratch, 0, kOtherHalf}, SliceBytes());
      runs.Add(before, result, slice_.bytes());
      runs.Add({Place::kScratch, 0, kOtherHalf}, running, slice_.bytes());
      out_.CopyRuns(runs.Take());
    } else {
      if (before.place == Place::kNone) {
        runs.Add(own, running, slice_.bytes());
        out_.CopyRuns(runs.Take());
      } else {
        out_.Reduce({before, own}, running, SliceBytes());
      }
      if (inclusive()) {
        runs.Add(running, result, slice_.bytes());
        out_.CopyRuns(runs.Take());
      }
    }
    before = running;
  }
}

void BlockExpansion::ScanByChain() {
  Buffer before;
  if (position_ > 0) {
    out_.RecvFrom(Before(1), kDown);
    before = {Place::kCell, Before(1)};
  }
  out_.Wait(kDown);
  const Buffer running{Place::kScratch};
  DeliverPrefixes(before, running);
  if (position_ + 1 < n_) out_.SendTo(At(1), kDown, running, SliceBytes());
}

// After the rounds of distances 1 to s, `window` is the sum of the 2 s nodes up to this one, `before` without it.
void BlockExpansion::ScanByDoubling() {
  out_.Wait(0);
  const Buffer window{Place::kScratch};
  const Buffer before{Place::kScratch, 0, kThird};
  RunList runs;
  if (own_ranks_.size() > 1) {
    out_.Reduce(OwnOperands(), window, SliceBytes());
  } else {
    // A plain copy: a logical operation would make a 0 or 1 of the value.
    runs.Add(Sends(0, slice_.begin), window, slice_.bytes());
    out_.CopyRuns(runs.Take());
  }
  bool has_before = false;
  uint16_t round = 0;
  for (const uint32_t s : DistancesOf(plan_)) {
    ++round;
    if (position_ + s < n_) out_.SendTo(At(s), round, window, SliceBytes());
    if (position_ < s) continue;
    const Buffer cell{Place::kCell, Before(s)};
    out_.RecvFrom(Before(s), round);
    out_.Wait(round);
    if (has_before) {
      out_.Reduce({cell, before}, before, SliceBytes());
    } else {
      runs.Add(cell, before, slice_.bytes());
      out_.CopyRuns(runs.Take());
    }
    has_before = true;
    out_.Reduce({cell, window}, window, SliceBytes());
  }
  DeliverPrefixes(has_before ? before : Buffer{}, window);
}

// Every node gets all contributions and reduces them in rank order for its own ranks.
absl::Status BlockExpansion::ScanByFolding() {
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
  // All ranks' packed slices are gathered as equal blocks.
  const BlockSizes equal(&order_, &shape_, each);
  BlockCall gather = call_;
  gather.sizes = &equal;
  BlockExpansion all(gather, {0, equal.total()});
  all.send_base_ = slice_.begin;
  const Buffer packed = all.GatherEverywhere();
  out_ = std::move(all.out_);
  // The offset of rank r's slice.
  std::vector<uint64_t> offset(shape_.size());
  uint64_t at = 0;
  for (uint32_t p = 0; p < n_; ++p) {
    for (const Rank r : shape_.RanksOf(NodeIndex(order_.NodeAt(p)))) {
      offset[r.value()] = at;
      at += each;
    }
  }
  // The gathered slices may lie in scratch, so the sums lie behind them.
  const Buffer running{Place::kScratch, 0, kOtherHalf};
  const auto part = [&](uint32_t r) {
    Buffer b = packed;
    b.offset += offset[r];
    return b;
  };
  Buffer before;
  RunList runs;
  for (uint32_t r = 0; r < shape_.size(); ++r) {
    const bool here = IsHere(r);
    const uint32_t l = here ? shape_.LocalIndexOf(Rank(r)) : 0;
    const Buffer result{Place::kRankRecv, l, slice_.begin};
    if (here && !inclusive() && before.place != Place::kNone) {
      runs.Add(before, result, each);
      out_.CopyRuns(runs.Take());
    }
    if (before.place == Place::kNone) {
      runs.Add(part(r), running, each);
      out_.CopyRuns(runs.Take());
    } else {
      out_.Reduce({before, part(r)}, running, static_cast<uint32_t>(each));
    }
    before = running;
    if (here && inclusive()) {
      runs.Add(running, result, each);
      out_.CopyRuns(runs.Take());
    }
  }
  return absl::OkStatus();
}

}  // namespace copse::schedule
