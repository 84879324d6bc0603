// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/receiver.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "client/context/context.h"
#include "client/tnbc/pages/copy_block.h"
#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/memory_kind.h"
#include "client/tnbc/pages/page_bytes.h"

namespace copse::tnbc {

BufferPlace Receiver::PlaceOf(bool leaves_rest) const {
  BufferPlace place = {begin(), PageBytes()};
  const Spare spare = SpareAround({begin(), begin() + fragmentation_.receive_bytes});
  place.spare_before = spare.before;
  if (!leaves_rest) place.spare_behind = spare.behind;
  return place;
}

bool Receiver::PlaceEdges(const uint8_t* from) {
  return std::all_of(fragmentation_.edges.unpack.begin(), fragmentation_.edges.unpack.end(), [&](const Move& move) {
    return Write({move.to, move.bytes}, from + move.from);
  });
}

bool Receiver::Write(const Extent& fragment, const uint8_t* from) {
  return guard_->Write(begin() + fragment.offset, from, fragment.bytes);
}

void Receiver::CopyOut() {
  const uint8_t* const from = address();
  if (from == user_ || from == nullptr) return;
  for (const SubCall& call : fragmentation_.calls) {
    for (const Extent& fragment : call.extents) memcpy(user_ + fragment.offset, from + fragment.offset, fragment.bytes);
  }
}

namespace {

// A MissingReceiver is for a rank that has no result.
class MissingReceiver final : public Receiver {
 public:
  using Receiver::Receiver;
  uint8_t* address() override { return nullptr; }
  BufferPlace PlaceOf(bool /*leaves_rest*/) const override { return {begin(), PageBytes()}; }
};

// An InPlaceReceiver receives in the program's buffer while the caller waits.
class InPlaceReceiver final : public Receiver {
 public:
  using Receiver::Receiver;
  uint8_t* address() override { return user_; }
};

// A CopyReceiver receives in a staging buffer, from which data is written to closed pages through /proc/self/mem.
class CopyReceiver final : public Receiver {
 public:
  CopyReceiver(const CallMeans& means, const Fragmentation& fragmentation, uint8_t* user)
      : Receiver(means, fragmentation, user), block_(means.memory, fragmentation.receive_bytes) {}
  uint8_t* address() override { return block_.address(); }
  void Spoil() override { block_.Spoil(); }

 private:
  CopyBlock block_;
};

// An OwnMemoryReceiver receives in a buffer of copse_alloc: the daemon writes to its closed pages through its own
// mapping. The kernel does not write to memory that is shared and inaccessible, so the edges are written through
// aliases: second mappings of their pages.
class OwnMemoryReceiver final : public Receiver {
 public:
  using Receiver::Receiver;
  ~OwnMemoryReceiver() override { DropEdges(); }
  uint8_t* address() override { return user_; }
  BufferPlace PlaceOf(bool /*leaves_rest*/) const override { return {begin(), PageBytes()}; }
  bool Place(const Extent& /*fragment*/) override { return true; }

  // mremap() with an old length of 0 makes a second mapping of shared pages, and leaves the first one as it is
  // (mremap(2)).
  bool PrepareEdges() override {
    for (const Move& move : fragmentation_.edges.unpack) {
      const uintptr_t to = this->begin() + move.to, begin = to / PageBytes() * PageBytes();
      const uint64_t bytes = (to + move.bytes - begin + PageBytes() - 1) / PageBytes() * PageBytes();
      const long alias = Free(SYS_mremap, begin, 0, bytes, MREMAP_MAYMOVE);
      if (alias < 0 && alias > -4096) {
        DropEdges();
        return false;
      }
      aliases_.push_back({static_cast<uintptr_t>(alias), static_cast<uintptr_t>(alias) + bytes});
    }
    return true;
  }
  bool PlaceEdges(const uint8_t* from) override {
    for (size_t i = 0; i < aliases_.size(); ++i) {
      const Move& move = fragmentation_.edges.unpack[i];
      auto* const page = reinterpret_cast<uint8_t*>(aliases_[i].begin);  // NOLINT: as mapped
      memcpy(page + (begin() + move.to) % PageBytes(), from + move.from, move.bytes);
    }
    DropEdges();
    return true;
  }
  void DropEdges() override {
    for (const Range& alias : aliases_) Free(SYS_munmap, alias.begin, alias.bytes());
    aliases_.clear();
  }

 private:
  std::vector<Range> aliases_;  // by edge, in the order of edges.unpack
};

// A RemappedReceiver remaps the buffer's pages to a block of memory in which calls receive. `by_copy`: the calls write
// more than the result, so they receive in a staging buffer.
class RemappedReceiver final : public Receiver {
 public:
  RemappedReceiver(const CallMeans& means, const Fragmentation& fragmentation, uint8_t* user,
                   std::shared_ptr<RemappedBuffer> buffer, bool by_copy)
      : Receiver(means, fragmentation, user), remapped_(means.remapped), buffer_(std::move(buffer)) {
    if (by_copy) block_.emplace(means.memory, fragmentation.receive_bytes);
  }
  uint8_t* address() override { return block_.has_value() ? block_->address() : buffer_->At(begin()); }

  bool Close(ResultPages* pages, bool edges_too) override {
    bool is_closed = false;
    const std::vector<Range> all = pages->ranges();
    exchanged_ = remapped_->Close(
        buffer_.get(), all, [pages] { return pages->Close(); },
        [&](std::span<const Range> fresh) { KeepUnbrought(fresh, edges_too); }, &is_closed);
    return is_closed;
  }

  void Spoil() override {
    if (block_.has_value()) block_->Spoil();
    remapped_->Spoil(buffer_);
  }

 private:
  // Copies to the block those bytes of `pages`, which are about to be remapped, that no call writes, among them spare
  // bytes on the first and last page.
  void KeepUnbrought(std::span<const Range> pages, bool edges_too) {
    const Range result{begin(), begin() + fragmentation_.receive_bytes};
    const auto keep = [this](uintptr_t from, uintptr_t to) {
      if (from < to) guard_->Read(buffer_->At(from), from, to - from);
    };
    std::vector<Extent> extents;
    for (const Range& range : pages) {
      const Range inside{std::max(range.begin, result.begin), std::min(range.end, result.end)};
      extents.push_back({inside.begin - result.begin, inside.bytes()});
      keep(range.begin, inside.begin);
      keep(inside.end, range.end);
    }
    for (const Extent& fragment : UnbroughtOf(fragmentation_, edges_too, extents)) {
      keep(result.begin + fragment.offset, result.begin + fragment.offset + fragment.bytes);
    }
  }

  // Remapped pages are written through the block's own mapping, unless calls have received there. Other closed pages
  // are written through /proc/self/mem.
  bool Write(const Extent& fragment, const uint8_t* from) override {
    const uintptr_t first = begin() + fragment.offset, last = first + fragment.bytes;
    uintptr_t at = first;
    for (const Range& pages : exchanged_) {
      const uintptr_t begin = std::clamp(pages.begin, at, last), end = std::clamp(pages.end, at, last);
      if (begin > at && !guard_->Write(at, from + (at - first), begin - at)) return false;
      const uint8_t* const data = from + (begin - first);
      if (end > begin && buffer_->At(begin) != data) memcpy(buffer_->At(begin), data, end - begin);
      at = std::max(at, end);
    }
    return at == last || guard_->Write(at, from + (at - first), last - at);
  }

  RemappedMemory* const remapped_;
  const std::shared_ptr<RemappedBuffer> buffer_;
  std::optional<CopyBlock> block_;
  std::vector<Range> exchanged_;  // remapped pages, set by Close
};

}  // namespace

std::unique_ptr<Receiver> MakeReceiver(const CallMeans& means, const Fragmentation& fragmentation, uint8_t* receive,
                                       bool may_return) {
  if (!may_return) return std::make_unique<InPlaceReceiver>(means, fragmentation, receive);
  if (fragmentation.runs.empty() && (fragmentation.is_source || fragmentation.receive_bytes == 0)) {
    return std::make_unique<MissingReceiver>(means, fragmentation, receive);
  }
  std::unique_ptr<Receiver> receiver;
  if (!fragmentation.runs.empty()) {
    const bool writes_parts_only = WritesExtentsOnly(fragmentation);
    if (writes_parts_only && means.context->memory().ReachesPages(receive, fragmentation.receive_bytes)) {
      return std::make_unique<OwnMemoryReceiver>(means, fragmentation, receive);
    }
    const auto address = reinterpret_cast<uintptr_t>(receive);
    const Range result{address, address + fragmentation.receive_bytes};
    std::shared_ptr<RemappedBuffer> buffer;
    if (means.remapped != nullptr) buffer = means.remapped->Use(result, writes_parts_only);
    if (KindOf(result) < (buffer == nullptr ? MemoryKind::kPrivate : MemoryKind::kOurs)) return nullptr;
    if (buffer != nullptr) {
      receiver =
          std::make_unique<RemappedReceiver>(means, fragmentation, receive, std::move(buffer), !writes_parts_only);
    }
  }
  if (receiver == nullptr) receiver = std::make_unique<CopyReceiver>(means, fragmentation, receive);
  return receiver->address() == nullptr ? nullptr : std::move(receiver);
}

}  // namespace copse::tnbc
