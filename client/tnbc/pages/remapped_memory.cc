// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/remapped_memory.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/memory_kind.h"
#include "client/tnbc/pages/page_bytes.h"

namespace copse::tnbc {
namespace {

bool Overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }
bool Has(const Range& whole, const Range& part) { return whole.begin <= part.begin && part.end <= whole.end; }

// Returns all pages that have a byte of the range.
Range PagesOf(const Range& range) {
  return {range.begin / PageBytes() * PageBytes(), (range.end + PageBytes() - 1) / PageBytes() * PageBytes()};
}

bool IsAddress(long result) { return result >= 0 || result <= -4096; }

// Inserts the range into `others`, which are ascending, and joins it with its neighbors.
void Merge(const Range& range, std::vector<Range>* others) {
  auto at = std::partition_point(others->begin(), others->end(),
                                 [&range](const Range& other) { return other.end < range.begin; });
  Range whole = range;
  while (at != others->end() && at->begin <= whole.end) {
    whole = {std::min(whole.begin, at->begin), std::max(whole.end, at->end)};
    at = others->erase(at);
  }
  others->insert(at, whole);
}

// Adds the anonymous memory in the range: static variables without initial values, for example, are on anonymous pages
// beside pages of the program's file. Stops at memory that is not mapped.
void AddAnonymous(const Range& range, std::vector<Range>* others) {
  for (uintptr_t at = range.begin; at < range.end;) {
    const auto mapping = MappingAt(at);
    if (!mapping.has_value()) return;
    if (mapping->inode == 0) Merge({at, std::min(mapping->range.end, range.end)}, others);
    at = mapping->range.end;
  }
}

}  // namespace

std::atomic<uint32_t> RemappedMemory::count_{0};

RemappedBuffer::RemappedBuffer(RemappedMemory* owner, const Range& range, const CopyMemory::Buffer& block,
                               uint64_t inode)
    : owner_(owner), range_(range), block_(block), inode_(inode) {}

RemappedBuffer::~RemappedBuffer() { owner_->GiveBack(*this); }

uint8_t* RemappedBuffer::At(uintptr_t address) const {
  return block_.address + (static_cast<int64_t>(address) - static_cast<int64_t>(PagesOf(range_).begin));
}

RemappedMemory::RemappedMemory(CopyMemory* memory, PageGuard* guard, uint64_t bytes_max, PageGuard::OnWait on_wait)
    : memory_(memory), guard_(guard), bytes_max_(bytes_max), on_wait_(on_wait) {}

void RemappedMemory::GiveBack(const RemappedBuffer& buffer) {
  bytes_.fetch_sub(buffer.block_.bytes, std::memory_order_relaxed);
  if (buffer.is_spoilt_) {
    memory_->Drop(buffer.block_);
  } else {
    memory_->GiveBack(buffer.block_);
  }
}

bool RemappedMemory::IsAsWeLeftIt(const RemappedBuffer& buffer) const {
  return std::all_of(buffer.remapped_.begin(), buffer.remapped_.end(), [&](const Range& range) {
    const Range block = PagesOf(buffer.range_);
    for (uintptr_t at = range.begin; at < range.end;) {
      const auto mapping = MappingAt(at);
      if (!mapping.has_value() || mapping->kind != MemoryKind::kOurs || mapping->inode != buffer.inode_ ||
          mapping->offset + (at - mapping->range.begin) != at - block.begin) {
        return false;
      }
      at = mapping->range.end;
    }
    return true;
  });
}

// Returns a buffer that has bytes of the range. Adjacent buffers may have bytes on one page, which is not remapped
// then, so it is not enough to share a page.
std::shared_ptr<RemappedBuffer> RemappedMemory::Sharing(const Range& range) const {
  for (const auto& buffer : buffers_) {
    if (Overlap(buffer->range_, range)) return buffer;
  }
  return nullptr;
}

std::shared_ptr<RemappedBuffer> RemappedMemory::Overlapping(const Range& range, const Buffers& but) const {
  for (const auto& buffer : buffers_) {
    const bool is_meant = Overlap(PagesOf(buffer->range_), range);
    if (is_meant && std::find(but.begin(), but.end(), buffer) == but.end()) return buffer;
  }
  return nullptr;
}

std::shared_ptr<RemappedBuffer> RemappedMemory::Use(const Range& result, bool may_remap) {
  std::optional<Range> wanted;
  {
    Buffers over;
    HolderLock lock(&mutex_);
    const auto found = Sharing(result);
    if (found != nullptr && Has(found->range_, result) && IsAsWeLeftIt(*found)) return found;
    if (found != nullptr) ReleaseAll(result, MemoryEnd::kStays, &lock, &over);
    if (may_remap && result.bytes() >= kBytesMin) wanted = uses_.Count(result);
    if (buffers_.size() >= kBuffersMax) return nullptr;
  }
  if (!wanted.has_value() || !MayExchange(*wanted)) return nullptr;
  const uint64_t bytes = PagesOf(*wanted).bytes();
  if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > bytes_max_) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return nullptr;
  }
  const CopyMemory::Buffer block = memory_->Take(bytes);
  bytes_.fetch_add(block.bytes - bytes, std::memory_order_relaxed);
  const auto mapping = MappingAt(reinterpret_cast<uintptr_t>(block.address));
  if (block.address == nullptr) return nullptr;
  const auto buffer = std::make_shared<RemappedBuffer>(this, *wanted, block, mapping.has_value() ? mapping->inode : 0);
  // Offsets in the block's file are computed from the block's begin, so the block has to be all of a file of its own.
  if (!mapping.has_value() || mapping->kind != MemoryKind::kOurs ||
      mapping->range.begin != reinterpret_cast<uintptr_t>(block.address) || mapping->offset != 0) {
    return nullptr;
  }
  HolderLock lock(&mutex_);
  if (Sharing(*wanted) != nullptr) return nullptr;
  buffers_.push_back(buffer);
  count_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in Release
  return buffer;
}

// mremap() with an old length of 0 makes a second mapping of the block's shared pages (mremap(2)). It gets `rights`,
// the present ones of the program's pages, before it replaces these.
bool RemappedMemory::Remap(RemappedBuffer* buffer, const Range& pages, int rights) {
  const auto second = Free(SYS_mremap, buffer->At(pages.begin), 0, pages.bytes(), MREMAP_MAYMOVE);
  if (!IsAddress(second)) return false;
  const bool is_done =
      Free(SYS_mprotect, second, pages.bytes(), rights) == 0 &&
      IsAddress(Free(SYS_mremap, second, pages.bytes(), pages.bytes(), MREMAP_MAYMOVE | MREMAP_FIXED, pages.begin));
  if (!is_done) Free(SYS_munmap, second, pages.bytes());
  if (is_done) TellExchange(pages);
  return is_done;
}

void RemappedMemory::TellExchange(const Range& pages) const {
  const OnExchange tell = on_exchange_.load(std::memory_order_acquire);            // pairs with SetOnExchange
  if (tell != nullptr) tell(reinterpret_cast<void*>(pages.begin), pages.bytes());  // NOLINT: an address
}

std::vector<Range> RemappedMemory::Close(RemappedBuffer* buffer, std::span<const Range> pages,
                                         const std::function<bool()>& close, const Keep& keep, bool* closed) {
  const HolderLock lock(&mutex_);
  *closed = close();
  const bool is_kept = std::any_of(buffers_.begin(), buffers_.end(), [&](const auto& b) { return b.get() == buffer; });
  if (!*closed || !is_kept) return {};
  std::vector<Range> fresh;
  for (const Range& range : pages) {
    const bool is_remapped = std::any_of(buffer->remapped_.begin(), buffer->remapped_.end(),
                                         [&range](const Range& remapped) { return Has(remapped, range); });
    if (!is_remapped && Has(PagesOf(buffer->range_), range)) AddAnonymous(range, &fresh);
  }
  // Pages may have been pinned since Use checked that.
  if (!fresh.empty() && DevicesMayKnowPages()) fresh.clear();
  if (!fresh.empty()) {
    if (buffer->remapped_.empty()) remappings_.fetch_add(1, std::memory_order_relaxed);
    keep(fresh);
  }
  for (const Range& range : fresh) {
    if (Remap(buffer, range, PROT_NONE)) Merge(range, &buffer->remapped_);
  }
  std::vector<Range> remapped;
  for (const Range& range : pages) {
    for (const Range& have : buffer->remapped_) {
      const Range both{std::max(range.begin, have.begin), std::min(range.end, have.end)};
      if (both.begin < both.end) Merge(both, &remapped);
    }
  }
  return remapped;
}

Range RemappedMemory::WholePagesOf(const Range& range) {
  const uintptr_t begin = (range.begin + PageBytes() - 1) / PageBytes() * PageBytes();
  return {begin, std::max(begin, range.end / PageBytes() * PageBytes())};
}

// The memory stays readable meanwhile, since other threads may be reading it, and MPI for messages in flight.
bool RemappedMemory::RemapToSend(RemappedBuffer* buffer, const Range& sent) {
  const Range pages = WholePagesOf(sent), all = PagesOf(sent);
  const HolderLock lock(&mutex_);
  const auto is_as_wanted = [&] {
    bool has_whole = false, has_others = false;
    for (const Range& remapped : buffer->remapped_) {
      has_whole |= Has(remapped, pages);
      has_others |= all.begin < pages.begin && Has(remapped, {all.begin, pages.begin});
      has_others |= pages.end < all.end && Has(remapped, {pages.end, all.end});
    }
    return has_whole && !has_others;
  };
  const bool is_kept = std::any_of(buffers_.begin(), buffers_.end(), [&](const auto& b) { return b.get() == buffer; });
  if (!is_kept || is_as_wanted()) return is_kept;
  if (DevicesMayKnowPages() || !guard_->ProtectSent(std::span(&pages, 1))) return false;
  std::vector<Range> fresh;
  AddAnonymous(pages, &fresh);
  if (buffer->remapped_.empty() && !fresh.empty()) remappings_.fetch_add(1, std::memory_order_relaxed);
  for (const Range& range : fresh) {
    memcpy(buffer->At(range.begin), reinterpret_cast<const void*>(range.begin), range.bytes());  // NOLINT: an address
    if (Remap(buffer, range, PROT_READ)) Merge(range, &buffer->remapped_);
  }
  guard_->Release(pages);
  return is_as_wanted();
}

bool RemappedMemory::MaySendFrom(const Range& sent) {
  const HolderLock lock(&mutex_);
  return regrets_.MaySendFrom(sent.begin);
}

void RemappedMemory::Regret(const Range& sent) {
  const HolderLock lock(&mutex_);
  regrets_.Regret(sent);
}

// Maps ordinary pages without contents, closed. If no other thread uses the memory, they are accessible for a moment,
// so that the kernel can join them with neighboring mappings: a later mremap() takes one mapping only.
bool RemappedMemory::PutOrdinary(const Range& pages, MemoryEnd end) {
  constexpr int kHow = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, kOpen = PROT_READ | PROT_WRITE;
  if (end == MemoryEnd::kStays) {
    return IsAddress(Free(SYS_mmap, pages.begin, pages.bytes(), PROT_NONE, kHow, -1, 0));
  }
  return IsAddress(Free(SYS_mmap, pages.begin, pages.bytes(), kOpen, kHow, -1, 0)) &&
         Free(SYS_mprotect, pages.begin, pages.bytes(), PROT_NONE) == 0;
}

// Accesses to these pages wait meanwhile. Memory that the program itself has mapped there stays. Returns false if pages
// of the block stay, since the system has no memory for others.
bool RemappedMemory::Restore(const RemappedBuffer& buffer, const Range& pages, MemoryEnd end) {
  const uintptr_t block = PagesOf(buffer.range_).begin;
  bool is_restored = true;
  for (uintptr_t at = pages.begin; at < pages.end;) {
    const auto mapping = MappingAt(at);
    if (!mapping.has_value()) {  // unmapped by the program
      at += PageBytes();
      continue;
    }
    const Range part{std::max(at, mapping->range.begin), std::min(pages.end, mapping->range.end)};
    at = mapping->range.end;
    if (mapping->inode != buffer.inode_ ||
        mapping->offset + (part.begin - mapping->range.begin) != part.begin - block) {
      continue;
    }
    const bool is_closed = guard_->Protect(std::span(&part, 1));
    if (PutOrdinary(part, end)) {
      const uint64_t ends = end == MemoryEnd::kGoes ? std::min(PageBytes(), part.bytes()) : part.bytes();
      guard_->Write(part.begin, buffer.At(part.begin), ends);
      if (ends < part.bytes()) guard_->Write(part.end - ends, buffer.At(part.end - ends), ends);
      TellExchange(part);
    } else {
      is_restored = false;
    }
    if (is_closed) guard_->Release(part);
    if (!is_closed || mapping->rights != (PROT_READ | PROT_WRITE)) {
      Free(SYS_mprotect, part.begin, part.bytes(), mapping->rights);
    }
  }
  return is_restored;
}

void RemappedMemory::ReleaseLocked(RemappedBuffer* buffer, MemoryEnd end) {
  // A block that the program still has must not be given to other buffers.
  for (const Range& pages : buffer->remapped_) buffer->is_spoilt_ |= !Restore(*buffer, pages, end);
  uses_.Restart(buffer->range_.begin, end);
  buffer->remapped_.clear();
  std::erase_if(buffers_, [buffer](const auto& other) { return other.get() == buffer; });
  count_.fetch_sub(1, std::memory_order_release);  // pairs with the acquire in Release
}

// Lost memory stays closed, and its buffers stay remapped.
void RemappedMemory::ReleaseAll(const Range& range, MemoryEnd end, HolderLock* lock, Buffers* over) {
  Buffers lost;
  while (const auto buffer = Overlapping(range, lost)) {
    const Range pages = PagesOf(buffer->range_);
    const auto* const first = reinterpret_cast<const void*>(pages.begin);  // NOLINT: an address
    if (guard_->IsPending(first, pages.bytes())) {
      lock->Leave();
      const bool is_there = guard_->AwaitUnused(first, pages.bytes(), on_wait_);
      guard_->StopLooking(first, pages.bytes());  // opens ranges whose data has arrived
      // Another thread may have made some of it pending again.
      if (is_there && guard_->IsPending(first, pages.bytes())) on_wait_();
      lock->Take();
      if (!is_there) lost.push_back(buffer);
      continue;
    }
    over->push_back(buffer);
    ReleaseLocked(buffer.get(), Has(range, buffer->range_) ? end : MemoryEnd::kStays);
  }
  std::move(lost.begin(), lost.end(), std::back_inserter(*over));
}

void RemappedMemory::Release(const void* address, uint64_t bytes, MemoryEnd end) {
  // Acquire: pairs with the releases in Use and ReleaseLocked.
  if (count_.load(std::memory_order_acquire) == 0 || changes_pages()) return;
  const auto begin = reinterpret_cast<uintptr_t>(address);
  Buffers over;
  const Range range{begin, begin + bytes};
  HolderLock lock(&mutex_);
  ReleaseAll(range, end, &lock, &over);
  if (end == MemoryEnd::kStays) return;
  // Memory that is mapped there later is another buffer, so it starts without a history.
  uses_.Forget(range);
  regrets_.Forget(range);
}

void RemappedMemory::BeginFork() {
  forking_.emplace(&mutex_);
  ReleaseAll({0, UINTPTR_MAX}, MemoryEnd::kStays, &*forking_, &released_);
}

// A child keeps the released buffers: their destruction would use the daemon, and locks that other threads of the
// parent may have held.
void RemappedMemory::EndFork(bool is_child) {
  Buffers over;
  if (!is_child) over.swap(released_);
  forking_.reset();
}

void RemappedMemory::Spoil(const std::shared_ptr<RemappedBuffer>& buffer) {
  const HolderLock lock(&mutex_);
  buffer->is_spoilt_ = true;
  const bool is_kept = std::find(buffers_.begin(), buffers_.end(), buffer) != buffers_.end();
  if (is_kept) ReleaseLocked(buffer.get(), MemoryEnd::kStays);
}

}  // namespace copse::tnbc
