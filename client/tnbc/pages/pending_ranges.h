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

// When a range was first accessed. It outlives its range, since a handler may still write it then.
struct FirstAccess {
  std::atomic<uint64_t> ns{0};         // of CLOCK_MONOTONIC; 0: nobody has
  std::atomic<uint64_t> waited_ns{0};  // by all who accessed it
  std::atomic<bool> by_call{false};    // of libc or MPI, with this memory as its buffer
};

// An ordered index of ranges, none overlapping another, of two kinds. The data of a pending one is on its way: who
// accesses it waits until it is taken out. A snapshot is to be sent: it may be read, and has to be copied before it is
// written to, by whoever claims it first; then it counts no more, though it is in the index until it is taken out.
//
// Readers search without a lock: they wait for no writer, allocate nothing, and may be signal handlers (Li et al.,
// T-NBC, have a red-black tree here, which cannot be read so). Each range has a word to wait on. Thread-safe.
class PendingRanges {
 public:
  static constexpr size_t kRangesMax = 4096;

  // What a reader found: a range, and its word as it was while the range was there. Words are used again, and count up
  // each time their range is taken out.
  struct Found {
    Range range;
    std::atomic<uint32_t>* word = nullptr;
    FirstAccess* access = nullptr;  // null: nobody wants to know
    uint32_t value = 0;
    bool failed = false;
    // Its data is there, and it is closed only to see who accesses it; somebody opens it; it is open.
    bool there = false, is_opening = false, is_open = false;
    uint8_t* copy = nullptr;  // of a snapshot, as long as the range
  };

  PendingRanges();
  PendingRanges(const PendingRanges&) = delete;
  PendingRanges& operator=(const PendingRanges&) = delete;

  // False, changing nothing, if there is no room, or something of it is in the index already. `ranges` are in order.
  // `accesses`: one a range, or none.
  bool Add(std::span<const Range> ranges, std::span<FirstAccess* const> accesses = {});
  // The same of snapshots, of which `range` and `copy` are given.
  bool AddSnapshots(std::span<Found> snapshots);
  // Takes out the range that begins there, and wakes who waits for it.
  void Remove(uintptr_t begin);
  // Takes out this one, if it still is there.
  void Remove(const Found& found);
  // Its data will never come: it stays, and who waits for it is woken.
  void MarkFailed(uintptr_t begin);
  // Its data is there: it stays, and who waits for it is woken.
  void MarkThere(uintptr_t begin);

  // True if the caller is the one to open a range whose data is there; it then calls EndOpening. For
  // handlers, too.
  static bool BeginOpening(const Found& found);
  static void EndOpening(const Found& found);

  // A snapshot is copied by who claims it, and only by him. For handlers, too.
  static bool Claim(const Found& snapshot);
  // By him, when it is: wakes who waits.
  static void Settle(const Found& snapshot);
  // Until somebody else has, if he has claimed it, or so long. Returns whether nobody is at it.
  static bool AwaitSettled(const Found& snapshot, uint64_t nanoseconds);

  // The first range that has a byte of [address, address + bytes) and is not settled. For handlers, too.
  std::optional<Found> Find(uintptr_t address, uint64_t bytes) const;
  // Until the range is taken out or has failed, or so long. Returns whether it is. For handlers, too.
  static bool Wait(const Found& found, uint64_t nanoseconds);

  // A byte that is 1 while there are ranges, and 0 while there are none. Called while there are none.
  void SetSelector(std::atomic<uint8_t>* selector) { selector_ = selector; }

  // The number of ranges.
  const std::atomic<uint32_t>& count() const { return count_; }
  // Changes with every Add, Remove and MarkFailed.
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
