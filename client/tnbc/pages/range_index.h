// SPDX-License-Identifier: Apache-2.0
//
// Publishes an ordered list of ranges of memory, which signal handlers search while it changes.
#ifndef COPSE_CLIENT_TNBC_PAGES_RANGE_INDEX_H_
#define COPSE_CLIENT_TNBC_PAGES_RANGE_INDEX_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace copse::tnbc {

// A Range holds the addresses [begin, end).
struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;

  uint64_t bytes() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// A FirstAccess records the first access to a range. It outlives the range, since a handler may write to it later.
struct FirstAccess {
  std::atomic<uint64_t> ns{0};         // CLOCK_MONOTONIC; 0: none yet
  std::atomic<uint64_t> waited_ns{0};  // total of all threads that accessed the range
  std::atomic<bool> by_call{false};    // it was a call of libc or MPI, with this memory as its buffer
};

struct IndexedRange {
  Range range;
  uint32_t word = 0;              // number of the range's word
  uint8_t* copy = nullptr;        // where a snapshot is copied; null: a pending range
  FirstAccess* access = nullptr;  // null: the first access is not recorded
};

// A RangeIndex has two copies of the list. A writer writes the one that is not read, and then makes it the one that is
// read: so a reader never waits for a writer, not even for one that it has interrupted. A reader that takes longer than
// two writers sees another version at its end, and searches again. The memory orders are those of Boehm, "Can seqlocks
// get along with programming language memory models?" (MSPC 2012). One writer at a time; any number of readers.
class RangeIndex {
 public:
  explicit RangeIndex(size_t ranges_max) {
    for (ListCopy& copy : copies_) copy.entries = std::make_unique<Entry[]>(ranges_max);
  }

  // Replaces the list by these ranges, which are ascending and disjoint.
  void Publish(std::span<const IndexedRange> ranges);
  // Calls `accept(range)` with each range that has a byte of [address, address + bytes), in order, until it returns
  // true. Returns whether it has. If the list changes meanwhile, it begins anew. Async-signal-safe if `accept` is.
  template <typename Accept>
  bool Find(uintptr_t address, uint64_t bytes, const Accept& accept) const {
    for (;;) {
      const uint32_t before = version();
      const bool found = Search(copies_[before % 2], address, bytes, accept);
      std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the fence in Publish
      if (version_.load(std::memory_order_relaxed) == before) return found;
    }
  }

  // Returns the number of ranges.
  const std::atomic<uint32_t>& count() const { return count_; }
  // Changes with every Publish. Acquire: pairs with the release there.
  uint32_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  // The members are atomic one by one, since a reader may read an entry that is being written.
  struct Entry {
    std::atomic<uintptr_t> begin{0}, end{0};
    std::atomic<uint32_t> word{0};
    std::atomic<uint8_t*> copy{nullptr};
    std::atomic<FirstAccess*> access{nullptr};
  };
  struct ListCopy {
    std::atomic<size_t> count{0};
    std::unique_ptr<Entry[]> entries;
  };

  template <typename Accept>
  static bool Search(const ListCopy& copy, uintptr_t address, uint64_t bytes, const Accept& accept) {
    const size_t count = copy.count.load(std::memory_order_relaxed);
    size_t low = 0, high = count;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (copy.entries[middle].end.load(std::memory_order_relaxed) <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    for (; low < count; ++low) {
      const Entry& entry = copy.entries[low];
      const Range range{entry.begin.load(std::memory_order_relaxed), entry.end.load(std::memory_order_relaxed)};
      if (range.begin >= address + bytes) return false;
      if (accept(IndexedRange{range, entry.word.load(std::memory_order_relaxed),
                              entry.copy.load(std::memory_order_relaxed),
                              entry.access.load(std::memory_order_relaxed)})) {
        return true;
      }
    }
    return false;
  }

  std::atomic<uint32_t> version_{0};  // its lowest bit says which copy is read
  std::atomic<uint32_t> count_{0};
  ListCopy copies_[2];
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_RANGE_INDEX_H_
