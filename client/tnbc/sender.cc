// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/sender.h"

#include <string.h>

#include <optional>
#include <utility>
#include <vector>

#include "client/context/context.h"
#include "client/tnbc/granules.h"
#include "client/tnbc/pages/copy_block.h"
#include "client/tnbc/pages/memory_kind.h"
#include "client/tnbc/pages/page_bytes.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/pending_ranges.h"
#include "client/tnbc/pages/remapped_memory.h"

namespace copse::tnbc {
namespace {

// Buffers from this length on are copied in pieces or not at all: copying a shorter one at once takes no longer than
// protecting and opening it (bench/tnbc_cost.cc).
constexpr uint64_t kSnapshotBytesMin = 512 << 10;

Range RangeAt(const uint8_t* address, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  return {begin, begin + bytes};
}

bool IsPacked(const Fragmentation& fragmentation) { return !fragmentation.send_pack.empty(); }

// A MissingSender is for a rank that sends nothing.
class MissingSender final : public Sender {
 public:
  uint8_t* address() override { return nullptr; }
};

// An InPlaceSender sends from the program's buffer while the caller waits.
class InPlaceSender final : public Sender {
 public:
  explicit InPlaceSender(const uint8_t* send) : send_(send) {}
  uint8_t* address() override { return const_cast<uint8_t*>(send_); }  // the daemon only reads it

 private:
  const uint8_t* const send_;
};

// A CopySender sends a copy that Fill makes, of data that has to be packed or that results overwrite. The copy is on
// the heap if the caller waits, and else in a block of copse_alloc, so that the daemon need not copy it again.
class CopySender final : public Sender {
 public:
  CopySender(const Fragmentation& fragmentation, const uint8_t* send) : fragmentation_(fragmentation), send_(send) {
    kept_.resize(fragmentation.send_bytes);
  }
  CopySender(const Fragmentation& fragmentation, const uint8_t* send, CopyMemory* memory)
      : fragmentation_(fragmentation), send_(send) {
    block_.emplace(memory, fragmentation.send_bytes);
  }
  uint8_t* address() override { return block_.has_value() ? block_->address() : kept_.data(); }
  // Makes the copy before results overwrite the buffer.
  void Fill() override {
    uint8_t* const copy = address();
    for (const Move& move : fragmentation_.send_pack) memcpy(copy + move.to, send_ + move.from, move.bytes);
    if (!IsPacked(fragmentation_)) memcpy(copy, send_, fragmentation_.send_bytes);
  }
  void Spoil() override {
    if (block_.has_value()) block_->Spoil();
  }

 private:
  const Fragmentation& fragmentation_;
  const uint8_t* const send_;
  std::vector<uint8_t> kept_;
  std::optional<CopyBlock> block_;
};

// A SnapshotSender sends a copy that is made in pieces; those that are left when the call returns are read-only until
// they are copied.
class SnapshotSender final : public Sender {
 public:
  SnapshotSender(const CallMeans& means, const Fragmentation& fragmentation, const uint8_t* send, uint64_t bytes)
      : means_(means),
        fragmentation_(fragmentation),
        send_(send),
        bytes_(bytes),
        block_(means.memory, bytes),
        snapshot_(means.guard) {}
  uint8_t* address() override { return block_.address(); }
  void Fill() override { snapshot_.Start(fragmentation_, send_, block_.address(), WayOfCopying(), PageBytes()); }
  bool Protect() override { return snapshot_.Protect(); }
  bool CopyNext() override { return snapshot_.CopyNext(); }
  bool HasAll() const override { return snapshot_.HasAll(); }
  bool HasCall(uint32_t index) const override { return snapshot_.HasCall(index); }
  void Stop() override { snapshot_.Drop(); }
  void Spoil() override { block_.Spoil(); }

 private:
  SendSnapshot::Way WayOfCopying() const {
    const bool pays = bytes_ >= kSnapshotBytesMin && means_.way == SendSnapshot::Way::kInPieces;
    const bool may_protect =
        pays && (MayProtect(RangeAt(send_, bytes_)) || means_.context->memory().ReachesPages(send_, bytes_));
    return may_protect ? SendSnapshot::Way::kInPieces : SendSnapshot::Way::kAtOnce;
  }

  const CallMeans& means_;
  const Fragmentation& fragmentation_;
  const uint8_t* const send_;
  const uint64_t bytes_;
  CopyBlock block_;
  SendSnapshot snapshot_;
};

// A ReadOnlySender copies no whole page: the daemon reads the program's own pages, as they are or remapped. After the
// call's return a page is read-only until the calls that send from it are complete: a thread that writes to it waits. A
// SnapshotSender is better for memory that is written soon after the call, so after such a wait later calls use one
// (RemappedMemory::Regret).
class ReadOnlySender final : public Sender {
 public:
  ReadOnlySender(const CallMeans& means, const Fragmentation& fragmentation, const uint8_t* send)
      : guard_(means.guard),
        remapped_(means.remapped),
        fragmentation_(fragmentation),
        sent_(RangeAt(send, fragmentation.send_bytes)) {}

  // Returns false if the buffer has to be copied. `is_reached`: the daemon reaches it without remapping.
  bool Prepare(bool is_reached) {
    if (remapped_ == nullptr || !remapped_->MaySendFrom(sent_)) return false;
    // The program may write to other data on a page at any time, so such pages cannot be sent read-only.
    if (is_reached) return RemappedMemory::WholePagesOf(sent_) == sent_ && MayProtect(sent_);
    buffer_ = remapped_->Use(sent_, /*may_remap=*/true);
    if (buffer_ == nullptr) return false;
    const bool is_remapped = remapped_->RemapToSend(buffer_.get(), sent_);
    if (!is_remapped) remapped_->Regret(sent_);
    return is_remapped;
  }

  uint8_t* address() override {
    if (buffer_ == nullptr) return reinterpret_cast<uint8_t*>(sent_.begin);  // NOLINT: an address
    return buffer_->At(sent_.begin);
  }
  // Copies the bytes outside whole pages to the buffer, since only whole pages are remapped.
  void Fill() override {
    if (buffer_ == nullptr) return;
    const Range pages = RemappedMemory::WholePagesOf(sent_);
    for (const Range& side : {Range{sent_.begin, pages.begin}, Range{pages.end, sent_.end}}) {
      memcpy(buffer_->At(side.begin), reinterpret_cast<const void*>(side.begin), side.bytes());  // NOLINT: an address
    }
  }
  bool Protect() override {
    // GranulesOf finds the pages as if the calls received what they send.
    Fragmentation sends;
    sends.receive_bytes = sent_.bytes();
    sends.runs = {{0, sent_.bytes()}};
    for (const SubCall& call : fragmentation_.calls) {
      sends.calls.emplace_back();
      sends.calls.back().extents = SentBy(fragmentation_, call);
    }
    granules_ = GranulesOf(sends, {.address = sent_.begin, .page = PageBytes()});
    std::vector<Range> ranges;
    for (const Granule& granule : granules_) ranges.push_back({granule.begin, granule.begin + granule.bytes});
    if (guard_->ProtectSent(ranges)) return true;
    granules_.clear();
    return false;
  }
  void Unprotect() override { Stop(); }
  void EndCall(uint32_t index) override {
    std::erase_if(granules_, [&](Granule& granule) {
      std::erase(granule.calls, index);
      if (!granule.calls.empty()) return false;
      guard_->Release({granule.begin, granule.begin + granule.bytes});
      return true;
    });
  }
  void Stop() override {
    for (const Granule& granule : granules_) guard_->Release({granule.begin, granule.begin + granule.bytes});
    granules_.clear();
  }
  bool MakesWait(uintptr_t address) const override { return address >= sent_.begin && address < sent_.end; }
  void Regret() override { remapped_->Regret(sent_); }
  void Spoil() override {
    if (buffer_ != nullptr) remapped_->Spoil(buffer_);
  }

 private:
  PageGuard* const guard_;
  RemappedMemory* const remapped_;
  const Fragmentation& fragmentation_;
  const Range sent_;
  std::shared_ptr<RemappedBuffer> buffer_;  // null: the daemon reaches the program's memory as it is
  std::vector<Granule> granules_;           // read-only pages, and the calls that have yet to send them
};

// Returns null if the buffer has to be copied.
std::unique_ptr<Sender> MakeReadOnly(const CallMeans& means, const Fragmentation& fragmentation, const uint8_t* send) {
  if (fragmentation.send_bytes < kSnapshotBytesMin || means.way != SendSnapshot::Way::kInPieces) return nullptr;
  auto sender = std::make_unique<ReadOnlySender>(means, fragmentation, send);
  const bool is_reached = means.context->memory().ReachesPages(send, fragmentation.send_bytes);
  if (!sender->Prepare(is_reached)) return nullptr;
  return sender;
}

std::unique_ptr<Sender> MakeOfWaiting(const Fragmentation& fragmentation, const uint8_t* send, bool is_overwritten) {
  if (is_overwritten && fragmentation.send_bytes > 0) return std::make_unique<CopySender>(fragmentation, send);
  return std::make_unique<InPlaceSender>(send);
}

}  // namespace

std::unique_ptr<Sender> MakeSender(const CallMeans& means, const Fragmentation& fragmentation, const uint8_t* send,
                                   uint8_t* receive, bool may_return) {
  // A broadcast's root sends from its receive buffer.
  if (fragmentation.is_source) send = receive;
  const uint64_t bytes = fragmentation.is_source ? fragmentation.receive_bytes : fragmentation.send_bytes;
  const bool is_overwritten = fragmentation.sends_received || IsPacked(fragmentation);
  if (!may_return) return MakeOfWaiting(fragmentation, send, is_overwritten);
  if (bytes == 0) return std::make_unique<MissingSender>();
  std::unique_ptr<Sender> sender;
  if (is_overwritten) {
    sender = std::make_unique<CopySender>(fragmentation, send, means.memory);
  } else {
    if (!fragmentation.is_source) sender = MakeReadOnly(means, fragmentation, send);
    if (sender != nullptr) return sender;
    sender = std::make_unique<SnapshotSender>(means, fragmentation, send, bytes);
  }
  return sender->address() == nullptr ? nullptr : std::move(sender);
}

}  // namespace copse::tnbc
