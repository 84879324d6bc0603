// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/sender.h"

#include <string.h>

#include <optional>
#include <utility>
#include <vector>

#include "client/context/context.h"
#include "client/tnbc/pages/copy_block.h"
#include "client/tnbc/pages/memory_kind.h"
#include "client/tnbc/pages/page_bytes.h"
#include "client/tnbc/pages/pending_ranges.h"
#include "client/tnbc/sent_memory.h"

namespace copse::tnbc {
namespace {

// Shorter ones are copied at once: from there on that takes longer than to protect and open them (bench/tnbc_cost.cc).
constexpr uint64_t kSnapshotBytesMin = 512 << 10;

Range RangeAt(const uint8_t* address, uint64_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  return {begin, begin + bytes};
}

bool IsPacked(const Fragmentation& fragmentation) { return !fragmentation.send_pack.empty(); }

class MissingSender final : public Sender {
 public:
  SendWay way() const override { return SendWay::kMissing; }
  uint8_t* address() override { return nullptr; }
};

class InPlaceSender final : public Sender {
 public:
  explicit InPlaceSender(const uint8_t* send) : send_(send) {}
  SendWay way() const override { return SendWay::kInPlace; }
  uint8_t* address() override { return const_cast<uint8_t*>(send_); }  // never written to

 private:
  const uint8_t* const send_;
};

// The copy is in memory of the heap's where the caller waits, else in a block, so that the daemon need not copy it.
class CopySender final : public Sender {
 public:
  CopySender(const Fragmentation& fragmentation, const uint8_t* send) : fragmentation_(fragmentation), send_(send) {
    kept_.resize(fragmentation.send_bytes);
  }
  CopySender(const Fragmentation& fragmentation, const uint8_t* send, CopyMemory* memory)
      : fragmentation_(fragmentation), send_(send) {
    block_.emplace(memory, fragmentation.send_bytes);
  }
  SendWay way() const override { return SendWay::kCopy; }
  uint8_t* address() override { return block_.has_value() ? block_->address() : kept_.data(); }
  // Before calls overwrite it.
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

class SnapshotSender final : public Sender {
 public:
  SnapshotSender(const CallMeans& means, const Fragmentation& fragmentation, const uint8_t* send, uint64_t bytes)
      : means_(means),
        fragmentation_(fragmentation),
        send_(send),
        bytes_(bytes),
        block_(means.memory, bytes),
        snapshot_(means.guard) {}
  SendWay way() const override { return SendWay::kSnapshot; }
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

class ReadOnlySender final : public Sender {
 public:
  ReadOnlySender(const CallMeans& means, const Fragmentation& fragmentation)
      : fragmentation_(fragmentation), sent_(means.guard, means.remapped) {}
  bool Prepare(const CallMeans& means, const uint8_t* send) {
    return sent_.Prepare(RangeAt(send, fragmentation_.send_bytes),
                         means.context->memory().ReachesPages(send, fragmentation_.send_bytes));
  }
  SendWay way() const override { return SendWay::kReadOnly; }
  uint8_t* address() override { return sent_.address(); }
  void Fill() override { sent_.CopySides(); }
  bool Protect() override { return sent_.Protect(fragmentation_); }
  void Unprotect() override { sent_.Open(); }
  void EndCall(uint32_t index) override { sent_.EndCall(index); }
  void Stop() override { sent_.Open(); }
  bool MakesWait(uintptr_t address) const override { return sent_.Has(address); }
  void Regret() override { sent_.Regret(); }
  void Spoil() override { sent_.Spoil(); }

 private:
  const Fragmentation& fragmentation_;
  SentMemory sent_;
};

// What is sent from where results come, or packed, is copied before they come.
std::unique_ptr<Sender> MakeReadOnly(const CallMeans& means, const Fragmentation& fragmentation, const uint8_t* send) {
  if (fragmentation.send_bytes < kSnapshotBytesMin || means.way != SendSnapshot::Way::kInPieces) return nullptr;
  auto sender = std::make_unique<ReadOnlySender>(means, fragmentation);
  if (!sender->Prepare(means, send)) return nullptr;
  return sender;
}

std::unique_ptr<Sender> MakeOfWaiting(const Fragmentation& fragmentation, const uint8_t* send, bool is_overwritten) {
  if (is_overwritten && fragmentation.send_bytes > 0) return std::make_unique<CopySender>(fragmentation, send);
  return std::make_unique<InPlaceSender>(send);
}

}  // namespace

std::unique_ptr<Sender> MakeSender(const CallMeans& means, const Fragmentation& fragmentation, const uint8_t* send,
                                   uint8_t* receive, bool may_return) {
  // A broadcast's root has what it sends where others receive.
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
