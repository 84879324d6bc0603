// SPDX-License-Identifier: Apache-2.0
//
// Indexes memory whose data has not arrived, or has yet to be sent, so that a fault handler can search it without a
// lock.
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

#include "client/tnbc/pages/page_state.h"
#include "client/tnbc/pages/range_index.h"

namespace copse::tnbc {

// A PendingRanges is an ordered index of disjoint ranges of two kinds. A pending range is in transfer: a thread that
// accesses it waits until it is taken out. A snapshot is to be sent: it may be read, and the thread that claims it
// first copies it before it is written to. Then it is settled, and stays in the index until it is taken out.
//
// Readers search without a lock: they do not wait for writers, allocate nothing, and may be signal handlers (Li et al.,
// T-NBC, have a red-black tree here, which does not allow that). Each range has a word (a futex) to wait on.
// Thread-safe.
class PendingRanges {
 public:
  static constexpr size_t kRangesMax = 4096;

  // A Found is a range as a reader found it, with the value of its word at that time. Words are reused; their values
  // grow each time that their range is taken out.
  struct Found {
    Range range;
    std::atomic<uint32_t>* word = nullptr;
    FirstAccess* access = nullptr;  // null: the first access is not recorded
    uint32_t value = 0;
    PageState state = PageState::kPending;
    uint8_t* copy = nullptr;  // where a snapshot is copied; null: a pending range
  };

  PendingRanges();
  PendingRanges(const PendingRanges&) = delete;
  PendingRanges& operator=(const PendingRanges&) = delete;

  // Adds pending ranges, in ascending order. Returns false, changing nothing, if there is no room, or if part of a
  // range is in the index already. `accesses`: one for each range, or none.
  bool Add(std::span<const Range> ranges, std::span<FirstAccess* const> accesses = {});
  // Adds snapshots, in ascending order, of which `range` and `copy` are given; sets their words. Returns false as Add
  // does.
  bool AddSnapshots(std::span<Found> snapshots);
  // Takes out the range that begins at `begin`, if there is one, and wakes threads that wait for it.
  void Remove(uintptr_t begin);
  // Takes out this range, if it is still in the index.
  void Remove(const Found& found);
  // Mark a pending range whose data will never arrive, or has arrived: it stays in the index, and threads that wait for
  // it are woken.
  void MarkFailed(uintptr_t begin) { Mark(begin, PageState::kFailed); }
  void MarkArrived(uintptr_t begin) { Mark(begin, PageState::kArrived); }

  // Returns true if the caller is the thread to open a range whose data has arrived; it calls EndOpening once the range
  // is open. Async-signal-safe.
  static bool BeginOpening(const Found& found);
  static void EndOpening(const Found& found);

  // Returns true if the caller is the thread to copy the snapshot, and to call Settle then. Async-signal-safe.
  static bool Claim(const Found& snapshot);
  // The thread that has claimed the snapshot calls it when the snapshot is copied. It wakes threads that wait.
  static void Settle(const Found& snapshot);
  // Waits for at most `nanoseconds` until the thread that has claimed the snapshot has settled it. Returns whether no
  // thread is copying it.
  static bool AwaitSettled(const Found& snapshot, uint64_t nanoseconds);

  // Returns the first range that has a byte of [address, address + bytes) and is not settled. Async-signal-safe.
  std::optional<Found> Find(uintptr_t address, uint64_t bytes) const;
  // Waits for at most `nanoseconds` until the range is taken out or its state changes, but not if it has failed.
  // Returns whether it was taken out, changed or has failed. Async-signal-safe.
  static bool Wait(const Found& found, uint64_t nanoseconds);

  // Sets a byte that the index sets to 1 while it has ranges, and to 0 while it has none. It is called while the index
  // has none.
  void SetSelector(std::atomic<uint8_t>* selector) { selector_ = selector; }

  // Returns the number of ranges.
  const std::atomic<uint32_t>& count() const { return index_.count(); }
  // Changes with every Add, Remove and mark.
  uint32_t version() const { return index_.version(); }

 private:
  using Items = std::vector<IndexedRange>;

  template <typename Ranges>
  bool Insert(const Ranges& ranges, std::span<FirstAccess* const> accesses = {});
  void TakeOut(Items::iterator item);
  void TakeOutSettled();
  void Publish();
  void Mark(uintptr_t begin, PageState state);
  Items::iterator ItemAt(uintptr_t begin);

  std::mutex mutex_;  // guards the members below, except that readers search index_, and words_
  Items items_;
  std::vector<uint32_t> free_words_;
  std::atomic<uint8_t>* selector_ = nullptr;
  RangeIndex index_{kRangesMax};
  const std::unique_ptr<std::atomic<uint32_t>[]> words_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PENDING_RANGES_H_
