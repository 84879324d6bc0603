// SPDX-License-Identifier: Apache-2.0
//
// Ordinary memory of the program whose pages were exchanged for pages that the daemon reaches.
#ifndef COPSE_CLIENT_TNBC_PAGES_REMAPPED_MEMORY_H_
#define COPSE_CLIENT_TNBC_PAGES_REMAPPED_MEMORY_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "client/tnbc/pages/copy_memory.h"
#include "client/tnbc/pages/held_signals.h"
#include "client/tnbc/pages/memory_end.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/pending_ranges.h"

namespace copse::tnbc {

class RemappedMemory;

// A buffer in which a program receives again and again, and the block that its pages are exchanged for. They have the
// same offset within a page.
class RemappedBuffer {
 public:
  RemappedBuffer(RemappedMemory* owner, const Range& range, const CopyMemory::Buffer& block, uint64_t inode);
  // Gives back the block; runs when the last owner lets go.
  ~RemappedBuffer();
  RemappedBuffer(const RemappedBuffer&) = delete;
  RemappedBuffer& operator=(const RemappedBuffer&) = delete;

  const Range& range() const { return range_; }
  // Returns another address, always accessible, of remapped memory of the program.
  uint8_t* At(uintptr_t address) const;

 private:
  friend class RemappedMemory;

  RemappedMemory* const owner_;
  const Range range_;
  const CopyMemory::Buffer block_;
  const uint64_t inode_;         // of the block's file
  std::vector<Range> remapped_;  // pages, in order and apart; the owner's lock guards them
  bool is_spoilt_ = false;       // the block may still be written to, by calls that were given up or by the program
};

// Remaps the memory that results are received in, from the second call on, so that the daemon writes them where they
// belong. The program's pages become a second mapping of a block of CopyMemory; what is in them goes with them. The
// mapping is shared, so children of fork would share it: before a fork, and before calls that treat shared memory
// otherwise, pages become ordinary ones again (Release); its owner releases all at the end. Thread-safe.
class RemappedMemory {
 public:
  // Smaller results are copied as quickly.
  static constexpr uint64_t kBytesMin = 256 << 10;
  static constexpr size_t kBuffersMax = 64;
  // Ranges that are remembered, to find those that come again.
  static constexpr size_t kRecentMax = 64;

  // `bytes_max`: the limit of memory remapped at a time. `on_wait`: PageGuard's, called by threads that wait for
  // pending memory.
  RemappedMemory(CopyMemory* memory, PageGuard* guard, uint64_t bytes_max, PageGuard::OnWait on_wait);
  RemappedMemory(const RemappedMemory&) = delete;
  RemappedMemory& operator=(const RemappedMemory&) = delete;

  // Returns the buffer that has all of `result`, of which nothing is pending, to receive in it or send from it; null if
  // it has to go by a copy. `may_remap`: the buffer may be a new one, if it is asked for again and MayExchange.
  // Remapped memory that overlaps it without being of use is released.
  std::shared_ptr<RemappedBuffer> Use(const Range& result, bool may_remap);

  // Returns the pages of the range that have nothing else on them.
  static Range WholePagesOf(const Range& range);
  // Remaps the whole pages of a range of the buffer, with their contents. Returns false if not all of them are remapped
  // now, or if the first or last page is that the range has only a part of.
  bool RemapToSend(RemappedBuffer* buffer, const Range& sent);
  // Returns whether to send from memory that the daemon reaches without a copy: not for eight calls after a thread has
  // waited to write there (Regret), and for twice as many each further time.
  bool MaySendFrom(const Range& sent);
  void Regret(const Range& sent);

  using Keep = std::function<void(std::span<const Range> pages)>;
  // Closes pages of a call that receives in `buffer`, by `close`, and remaps those of `pages` that have not been;
  // before, `keep` copies their bytes that no call brings into the block, with the lock held. Returns the remapped part
  // of them, in order; nothing if the buffer has been released, or if `close` returned false, which is then left in
  // *closed.
  std::vector<Range> Close(RemappedBuffer* buffer, std::span<const Range> pages, const std::function<bool()>& close,
                           const Keep& keep, bool* closed);

  // Makes the remapped part of this memory, and of the buffers that have it, ordinary again; waits for pending parts of
  // them. `end` is for buffers that lie in it entirely; others stay.
  void Release(const void* address, uint64_t bytes, MemoryEnd end);
  // Before a fork: releases everything, and keeps other threads from remapping until it is over.
  void BeginFork();
  void EndFork(bool is_child);
  // The buffer's calls are given up: the daemon may still write to it.
  void Spoil(const std::shared_ptr<RemappedBuffer>& buffer);

  // Called after pages were exchanged, by a thread that changes_pages(): registrations of the memory do not hold for
  // the program's present pages.
  using OnExchange = void (*)(void* address, size_t bytes);
  // Release: pairs with the acquire before each call.
  void SetOnExchange(OnExchange on_exchange) { on_exchange_.store(on_exchange, std::memory_order_release); }
  // Returns whether this thread is about to exchange pages, and has the lock.
  bool changes_pages() const { return holder_.load(std::memory_order_relaxed) == pthread_self(); }

  // The process's buffers that are remapped now, and the number of all that ever were.
  static const std::atomic<uint32_t>& count() { return count_; }
  uint64_t remappings() const { return remappings_.load(std::memory_order_relaxed); }

 private:
  friend class RemappedBuffer;

  // System calls that libc makes for us may come back by hooks (UCX's), so the lock's holder is known.
  class HolderLock {
   public:
    explicit HolderLock(RemappedMemory* owner) : owner_(owner) { Take(); }
    ~HolderLock() { Leave(); }
    HolderLock(const HolderLock&) = delete;
    HolderLock& operator=(const HolderLock&) = delete;

    void Take() {
      owner_->mutex_.lock();
      owner_->holder_.store(pthread_self(), std::memory_order_relaxed);
    }
    void Leave() {
      owner_->holder_.store(0, std::memory_order_relaxed);
      owner_->mutex_.unlock();
    }

   private:
    const HeldSignals held_;
    RemappedMemory* const owner_;
  };

  using Buffers = std::vector<std::shared_ptr<RemappedBuffer>>;
  // Ranges that calls receive in or send from, by their beginnings: as many of the latest as there is room for.
  template <typename Item>
  class Recent {
   public:
    // The item of that beginning; a new one, perhaps in place of the oldest, if there is none.
    Item& At(const Range& range) {
      for (Item& item : items_) {
        if (item.range.begin == range.begin) return item;
      }
      const bool has_room = items_.size() < kRecentMax;
      Item& item = has_room ? items_.emplace_back() : items_[next_++ % kRecentMax];
      item = {.range = range};
      return item;
    }
    void EraseWithin(const Range& range) {
      std::erase_if(items_,
                    [&](const Item& item) { return item.range.begin >= range.begin && item.range.begin < range.end; });
    }
    auto begin() { return items_.begin(); }
    auto end() { return items_.end(); }

   private:
    std::vector<Item> items_;
    size_t next_ = 0;
  };

  struct Seen {
    Range range;
    uint32_t uses = 0;
    uint32_t uses_wanted = 2;  // more each time that it had to be copied back
  };

  // A range from which calls do not send, so many times.
  struct Regretted {
    Range range;
    uint32_t left = 0, next = 8;
  };

  bool IsWanted(const Range& result, Range* wanted);
  bool IsAsWeLeftIt(const RemappedBuffer& buffer) const;
  bool Remap(RemappedBuffer* buffer, const Range& pages, int rights);
  static bool PutOrdinary(const Range& pages, MemoryEnd end);
  void TellExchange(const Range& pages) const;
  bool Restore(const RemappedBuffer& buffer, const Range& pages, MemoryEnd end);
  void ReleaseLocked(RemappedBuffer* buffer, MemoryEnd end);
  std::shared_ptr<RemappedBuffer> Sharing(const Range& range) const;
  std::shared_ptr<RemappedBuffer> Overlapping(const Range& range, const Buffers& but) const;
  // Buffers that are taken out go to *over, since their blocks are given back without the lock.
  void ReleaseAll(const Range& range, MemoryEnd end, HolderLock* lock, Buffers* over);
  void GiveBack(const RemappedBuffer& buffer);

  CopyMemory* const memory_;
  PageGuard* const guard_;
  const uint64_t bytes_max_;
  const PageGuard::OnWait on_wait_;
  std::atomic<OnExchange> on_exchange_{nullptr};
  std::atomic<uint64_t> bytes_{0};  // of blocks that are kept
  std::atomic<uint64_t> remappings_{0};

  std::mutex mutex_;  // guards what follows
  std::atomic<pthread_t> holder_{0};
  Buffers buffers_;
  Recent<Seen> seen_;
  Recent<Regretted> regretted_;
  std::optional<HolderLock> forking_;
  Buffers released_;  // for the fork

  static std::atomic<uint32_t> count_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_REMAPPED_MEMORY_H_
