// SPDX-License-Identifier: Apache-2.0
//
// Remaps ordinary memory of the program to pages that the daemon reaches.
#ifndef COPSE_CLIENT_TNBC_PAGES_REMAPPED_MEMORY_H_
#define COPSE_CLIENT_TNBC_PAGES_REMAPPED_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "client/tnbc/pages/copy_memory.h"
#include "client/tnbc/pages/holder_mutex.h"
#include "client/tnbc/pages/memory_end.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/range_history.h"
#include "client/tnbc/pages/range_index.h"

namespace copse::tnbc {

class RemappedMemory;

// A RemappedBuffer is a buffer that the program's calls use repeatedly, and the block to which its pages are remapped.
// Both have the same offset within a page.
class RemappedBuffer {
 public:
  RemappedBuffer(RemappedMemory* owner, const Range& range, const CopyMemory::Buffer& block, uint64_t inode);
  // Gives back the block. Runs when the last shared_ptr to the buffer is destroyed.
  ~RemappedBuffer();
  RemappedBuffer(const RemappedBuffer&) = delete;
  RemappedBuffer& operator=(const RemappedBuffer&) = delete;

  const Range& range() const { return range_; }
  // Returns the address in the block that corresponds to `address` in the buffer. It is always accessible.
  uint8_t* At(uintptr_t address) const;

 private:
  friend class RemappedMemory;

  RemappedMemory* const owner_;
  const Range range_;
  const CopyMemory::Buffer block_;
  const uint64_t inode_;         // inode number of the block's file
  std::vector<Range> remapped_;  // remapped pages, ascending and disjoint; the owner's lock guards them
  bool is_spoilt_ = false;       // the block may still be written to, by canceled calls or by the program
};

// A RemappedMemory remaps memory in which calls receive, or from which they send, from the second use on, so that the
// daemon accesses it without a copy. The program's pages become a second mapping of a block of CopyMemory, and keep
// their contents. The mapping is shared, so children of fork would share it: before a fork, and before calls that treat
// shared memory differently, pages become ordinary ones again (Release); the owner releases all at the end.
// Thread-safe.
class RemappedMemory {
 public:
  // Buffers of at least this length are remapped; shorter ones are copied as fast.
  static constexpr uint64_t kBytesMin = 256 << 10;
  static constexpr size_t kBuffersMax = 64;

  // `bytes_max` limits the memory that is remapped at any time. `on_wait` is PageGuard's, called by threads that wait
  // for pending memory. The pointers must outlive this object.
  RemappedMemory(CopyMemory* memory, PageGuard* guard, uint64_t bytes_max, PageGuard::OnWait on_wait);
  RemappedMemory(const RemappedMemory&) = delete;
  RemappedMemory& operator=(const RemappedMemory&) = delete;

  // Returns the buffer that contains all of `result`, to receive in it or to send from it; null if the call has to
  // copy. Nothing of `result` may be pending. `may_remap`: the buffer may be a new one, if the range is used again and
  // MayExchange allows it. Releases buffers that overlap `result` without containing it, or whose pages the program has
  // changed.
  std::shared_ptr<RemappedBuffer> Use(const Range& result, bool may_remap);

  // Returns the pages that lie in the range entirely.
  static Range WholePagesOf(const Range& range);
  // Remaps the whole pages of a range of the buffer, with their contents. Returns whether all of them are remapped now,
  // and the pages that the range shares with other data are not.
  bool RemapToSend(RemappedBuffer* buffer, const Range& sent);
  // MaySendFrom returns whether to send from this memory without a copy. Regret says that a thread has waited to write
  // there. See SendRegrets.
  bool MaySendFrom(const Range& sent);
  void Regret(const Range& sent);

  using Keep = std::function<void(std::span<const Range> pages)>;
  // Closes pages of a call that receives in `buffer`, by calling `close`, and remaps those of `pages` that are not
  // remapped yet. Before that, `keep` is called, with the lock held, to copy to the block those bytes of these pages
  // that no call writes. *closed is what `close` has returned. Returns the remapped pages among `pages`, in order; none
  // if `close` has returned false, or the buffer has been released.
  std::vector<Range> Close(RemappedBuffer* buffer, std::span<const Range> pages, const std::function<bool()>& close,
                           const Keep& keep, bool* closed);

  // Makes pages ordinary again in all buffers that overlap this memory, and waits for pending data in them first. `end`
  // is for buffers that begin and end in it; others stay. Lost memory stays as it is. Does nothing if this thread
  // changes_pages().
  void Release(const void* address, uint64_t bytes, MemoryEnd end);
  // Releases everything before a fork, and keeps other threads from remapping until EndFork, which follows in parent
  // and child.
  void BeginFork();
  void EndFork(bool is_child);
  // Releases a buffer whose calls were canceled. The daemon may still write to its block, so no other buffer gets it.
  void Spoil(const std::shared_ptr<RemappedBuffer>& buffer);

  // The thread that holds the lock (changes_pages()) calls it after it has remapped pages or made them ordinary again:
  // registrations of this memory no longer refer to the program's pages.
  using OnExchange = void (*)(void* address, size_t bytes);
  // Release: pairs with the acquire in TellExchange.
  void SetOnExchange(OnExchange on_exchange) { on_exchange_.store(on_exchange, std::memory_order_release); }
  // Returns whether this thread holds the lock, so that it may be replacing pages.
  bool changes_pages() const { return mutex_.is_held_here(); }

  // count() returns the number of the process's buffers that may have remapped pages; remappings(), how often pages of
  // a buffer were remapped that had none.
  static const std::atomic<uint32_t>& count() { return count_; }
  uint64_t remappings() const { return remappings_.load(std::memory_order_relaxed); }

 private:
  friend class RemappedBuffer;

  using Buffers = std::vector<std::shared_ptr<RemappedBuffer>>;

  bool IsAsWeLeftIt(const RemappedBuffer& buffer) const;
  bool Remap(RemappedBuffer* buffer, const Range& pages, int rights);
  static bool PutOrdinary(const Range& pages, MemoryEnd end);
  void TellExchange(const Range& pages) const;
  bool Restore(const RemappedBuffer& buffer, const Range& pages, MemoryEnd end);
  void ReleaseLocked(RemappedBuffer* buffer, MemoryEnd end);
  std::shared_ptr<RemappedBuffer> Sharing(const Range& range) const;
  std::shared_ptr<RemappedBuffer> Overlapping(const Range& range, const Buffers& but) const;
  // Moves released buffers to *over, since their blocks must be given back without the lock. Leaves the lock while it
  // waits for pending data.
  void ReleaseAll(const Range& range, MemoryEnd end, HolderLock* lock, Buffers* over);
  void GiveBack(const RemappedBuffer& buffer);

  CopyMemory* const memory_;
  PageGuard* const guard_;
  const uint64_t bytes_max_;
  const PageGuard::OnWait on_wait_;
  std::atomic<OnExchange> on_exchange_{nullptr};
  std::atomic<uint64_t> bytes_{0};  // bytes of the buffers' blocks together
  std::atomic<uint64_t> remappings_{0};

  HolderMutex mutex_;  // guards the members below
  Buffers buffers_;
  UseCounts uses_;
  SendRegrets regrets_;
  std::optional<HolderLock> forking_;
  Buffers released_;  // buffers that BeginFork released

  static std::atomic<uint32_t> count_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_REMAPPED_MEMORY_H_
