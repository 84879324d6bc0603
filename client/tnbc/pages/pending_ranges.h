// SPDX-License-Identifier: Apache-2.0
//
// Memory whose data is still on its way, or has yet to be sent, as a fault handler can look it up: without a lock.
#ifndef COPSE_CLIENT_TNBC_PAGES_PENDING_RANGES_H_
#define COPSE_CLIENT_TNBC_PAGES_PENDING_RANGES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace copse::tnbc {

// Addresses [begin, end).
struct Range {
  uintptr_t begin = 0;
  uintptr_t end = 0;

  uint64_t bytes() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// The first access to a range. It outlives its range, since a handler may still write it then.
struct FirstAccess {
  std::atomic<uint64_t> ns{0};         // of CLOCK_MONOTONIC; 0: none yet
  std::atomic<uint64_t> waited_ns{0};  // by all threads that accessed it
  std::atomic<bool> by_call{false};    // of libc or MPI, with this memory as its buffer
};

// An ordered index of ranges, none overlapping another, of two kinds. The data of a pending range is on its way: a
// thread that accesses it waits until it is taken out. A snapshot is to be sent: it may be read, and the thread that
// claims it first copies it before it is written to; then it is settled, and stays in the index until it is taken out.
//
// Readers search without a lock: they wait for no writer, allocate nothing, and may be signal handlers (Li et al.,
// T-NBC, have a red-black tree here, which cannot be read so). Each range has a word to wait on. Thread-safe.
class PendingRanges {
 public:
  static constexpr size_t kRangesMax = 4096;

  // A range that a reader found, and its word as it was while the range was there. Words are used again, and count up
  // each time their range is taken out.
  struct Found {
    Range range;
    std::atomic<uint32_t>* word = nullptr;
    FirstAccess* access = nullptr;  // null: the first access is not recorded
    uint32_t value = 0;
    bool failed = false;
    // Its data is there, and it is closed only to see its first access; a thread is opening it; it is open.
    bool there = false, is_opening = false, is_open = false;
    uint8_t* copy = nullptr;  // of a snapshot, as long as the range
  };

  PendingRanges();
  PendingRanges(const PendingRanges&) = delete;
  PendingRanges& operator=(const PendingRanges&) = delete;

  // Returns false, changing nothing, if there is no room, or if part of a range is in the index already. `ranges` are
  // in order. `accesses`: one for each range, or none.
  bool Add(std::span<const Range> ranges, std::span<FirstAccess* const> accesses = {});
  // Adds snapshots, of which `range` and `copy` are given.
  bool AddSnapshots(std::span<Found> snapshots);
  // Takes out the range that begins there, and wakes threads that wait for it.
  void Remove(uintptr_t begin);
  // Takes out this range, if it still is there.
  void Remove(const Found& found);
  // Marks that the range's data will never come: it stays, and threads that wait for it are woken.
  void MarkFailed(uintptr_t begin);
  // Marks that the range's data is there: it stays, and threads that wait for it are woken.
  void MarkThere(uintptr_t begin);

  // Returns true if the caller is the one to open a range whose data is there; it then calls EndOpening.
  // Async-signal-safe.
  static bool BeginOpening(const Found& found);
  static void EndOpening(const Found& found);

  // Returns true if the caller is the one to copy the snapshot. Async-signal-safe.
  static bool Claim(const Found& snapshot);
  // Called by that thread when it is copied: wakes threads that wait.
  static void Settle(const Found& snapshot);
  // Waits until another thread that has claimed it has settled it, or so long. Returns whether none is copying it.
  static bool AwaitSettled(const Found& snapshot, uint64_t nanoseconds);

  // Returns the first range that has a byte of [address, address + bytes) and is not settled. Async-signal-safe.
  std::optional<Found> Find(uintptr_t address, uint64_t bytes) const;
  // Waits until the range is taken out or has failed, or so long. Returns whether it is. Async-signal-safe.
  static bool Wait(const Found& found, uint64_t nanoseconds);

  // A byte that is 1 while there are ranges, and 0 while there are none. Called while there are none.
  void SetSelector(std::atomic<uint8_t>* selector) { selector_ = selector; }

  // The number of ranges.
  const std::atomic<uint32_t>& count() const { return count_; }
  // Changes with every Add, Remove and MarkFailed. Acquire: pairs with Publish.
  uint32_t version() const { return version_.load(std::memory_order_acquire); }

 private:
  // Atomic one by one, since a reader may read one that is being written; it reads again then.
  struct IndexedRange {
    std::atomic<uintptr_t> begin{0}, end{0};
    std::atomic<uint32_t> word{0};
    std::atomic<uint8_t*> copy{nullptr};
    std::atomic<FirstAccess*> access{nullptr};
  };
  struct IndexCopy {
    std::atomic<size_t> count{0};
    std::unique_ptr<IndexedRange[]> entries;
  };
  struct Item {
    Range range;
    uint32_t word;
    uint8_t* copy;
    FirstAccess* access;
  };

  template <typename Ranges>
  bool Insert(const Ranges& ranges, std::span<FirstAccess* const> accesses = {});
  void TakeOut(std::vector<Item>::iterator item);
  void TakeOutSettled();
  void Publish();
  void Mark(uintptr_t begin, uint32_t flag);
  std::vector<Item>::iterator ItemAt(uintptr_t begin);
  std::optional<Found> Search(const IndexCopy& copy, uintptr_t address, uint64_t bytes) const;

  std::mutex mutex_;  // guards items_ and free_words_
  std::vector<Item> items_;
  std::vector<uint32_t> free_words_;
  std::atomic<uint8_t>* selector_ = nullptr;

  std::atomic<uint32_t> version_{0};  // its parity: which copy is read
  std::atomic<uint32_t> count_{0};
  IndexCopy copies_[2];
  const std::unique_ptr<std::atomic<uint32_t>[]> words_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PENDING_RANGES_H_
