// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/send_snapshot.h"

#include <string.h>

#include <algorithm>

#include "client/tnbc/pages/held_signals.h"

namespace copse::tnbc {
namespace {

// A piece usually has this length: a store to a piece copies all of it, but each piece costs system calls.
constexpr uint64_t kPieceBytes = 256 << 10;
// A call has at most this many pieces, since the index that all calls share has room for PendingRanges::kRangesMax
// ranges.
constexpr uint64_t kPiecesMax = 256;
// Runs of whole pages are cut into pieces from this length on: shorter ones are copied faster than protected and
// opened.
constexpr uint64_t kPieceBytesMin = 32 << 10;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

bool AreApart(const std::vector<std::vector<Extent>>& sent) {
  std::vector<Extent> all;
  for (const std::vector<Extent>& extents : sent) all.insert(all.end(), extents.begin(), extents.end());
  std::sort(all.begin(), all.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i - 1].offset + all[i - 1].bytes > all[i].offset) return false;
  }
  return true;
}

}  // namespace

void SendSnapshot::Start(const Fragmentation& fragmentation, const uint8_t* from, uint8_t* to, Way way, uint64_t page) {
  std::vector<std::vector<Extent>> sent;  // by call
  for (const SubCall& call : fragmentation.calls) sent.push_back(SentBy(fragmentation, call));
  if (way == Way::kInPieces && AreApart(sent)) return CutInPieces(sent, from, to, page);
  for (const std::vector<Extent>& extents : sent) {
    for (const Extent& fragment : extents) memcpy(to + fragment.offset, from + fragment.offset, fragment.bytes);
  }
}

void SendSnapshot::CutInPieces(const std::vector<std::vector<Extent>>& sent, const uint8_t* from, uint8_t* to,
                               uint64_t page) {
  uint64_t bytes = 0;
  for (const std::vector<Extent>& extents : sent) {
    for (const Extent& fragment : extents) bytes += fragment.bytes;
  }
  const uint64_t longest = std::max(kPieceBytes, RoundUp(2 * bytes / kPiecesMax, page));
  const auto base = reinterpret_cast<uintptr_t>(from);
  const auto copy = [from, to, base](uintptr_t begin, uintptr_t end) {
    memcpy(to + (begin - base), from + (begin - base), end - begin);
  };
  for (const std::vector<Extent>& extents : sent) {
    for (const Extent& fragment : extents) {
      const uintptr_t begin = base + fragment.offset, end = begin + fragment.bytes;
      const uintptr_t first = RoundUp(begin, page), last = end / page * page;
      if (last < first + kPieceBytesMin || pieces_.size() >= kPiecesMax) {
        copy(begin, end);
        continue;
      }
      copy(begin, first);
      copy(last, end);
      for (uintptr_t at = first; at < last; at += longest) {
        PendingRanges::Found piece;
        piece.range = {at, std::min(at + longest, last)};
        piece.copy = to + (at - base);
        pieces_.push_back(piece);
      }
    }
    ends_.push_back(static_cast<uint32_t>(pieces_.size()));
  }
  last_.store(static_cast<uint32_t>(pieces_.size()), std::memory_order_release);  // pairs with HasAll
}

// Signals are held: a handler that interrupts the copy and waits for the completion thread would wait for ever, since
// that thread needs this piece.
bool SendSnapshot::CopyNext() {
  const HeldSignals held;
  const uint32_t next = copied_.load(std::memory_order_relaxed);
  bool is_protected = false;
  {
    const std::lock_guard lock(mutex_);
    if (next >= last_.load(std::memory_order_relaxed)) return false;
    is_copying_ = true;
    is_protected = is_protected_;
  }
  const PendingRanges::Found& piece = pieces_[next];
  if (is_protected) {
    guard_->SettleSnapshot(piece);
  } else {
    memcpy(piece.copy, reinterpret_cast<const void*>(piece.range.begin), piece.range.bytes());
  }
  const std::lock_guard lock(mutex_);
  is_copying_ = false;
  copied_.store(next + 1, std::memory_order_release);  // pairs with HasCall and HasAll: the copy is complete
  return true;
}

bool SendSnapshot::Protect() {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  const uint32_t next = copied_.load(std::memory_order_relaxed), last = last_.load(std::memory_order_relaxed);
  if (next >= last) return true;
  // The guard takes snapshots in order of addresses.
  std::vector<uint32_t> order;
  for (uint32_t i = next; i < last; ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [this](uint32_t a, uint32_t b) { return pieces_[a].range.begin < pieces_[b].range.begin; });
  std::vector<PendingRanges::Found> snapshots;
  for (const uint32_t i : order) snapshots.push_back(pieces_[i]);
  if (!guard_->ProtectSnapshots(snapshots)) return false;
  for (size_t i = 0; i < order.size(); ++i) pieces_[order[i]] = snapshots[i];
  is_protected_ = true;
  return true;
}

void SendSnapshot::Drop() {
  const HeldSignals held;
  const std::lock_guard lock(mutex_);
  const uint32_t end = copied_.load(std::memory_order_relaxed) + (is_copying_ ? 1 : 0);
  for (uint32_t i = end; is_protected_ && i < last_.load(std::memory_order_relaxed); ++i) {
    guard_->DropSnapshot(pieces_[i]);
  }
  if (end < last_.load(std::memory_order_relaxed)) last_.store(end, std::memory_order_release);  // pairs with HasAll
}

}  // namespace copse::tnbc
