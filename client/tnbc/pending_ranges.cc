// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pending_ranges.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace copse::tnbc {
namespace {

// A word's lowest bit: its range has failed. The rest counts the ranges that had it.
constexpr uint32_t kFailed = 1;
constexpr uint32_t kNextRange = 2;

}  // namespace

PendingRanges::PendingRanges() : words_(std::make_unique<std::atomic<uint32_t>[]>(kRangesMax)) {
  for (Copy& copy : copies_) copy.entries = std::make_unique<Entry[]>(kRangesMax);
  items_.reserve(kRangesMax);
  free_words_.reserve(kRangesMax);
  for (uint32_t word = kRangesMax; word-- > 0;) free_words_.push_back(word);
}

// Into the copy that nobody reads, which is then the one to read: a reader never waits for a writer, not even for one
// that it has interrupted. Readers that were slower than two writers see another version at their end. Orders as in
// Boehm, "Can seqlocks get along with programming language memory models?" (MSPC 2012).
void PendingRanges::Publish() {
  const uint32_t next = version_.load(std::memory_order_relaxed) + 1;
  Copy& copy = copies_[next % 2];
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t i = 0; i < items_.size(); ++i) {
    copy.entries[i].begin.store(items_[i].range.begin, std::memory_order_relaxed);
    copy.entries[i].end.store(items_[i].range.end, std::memory_order_relaxed);
    copy.entries[i].word.store(items_[i].word, std::memory_order_relaxed);
  }
  copy.count.store(items_.size(), std::memory_order_relaxed);
  count_.store(static_cast<uint32_t>(items_.size()), std::memory_order_relaxed);
  version_.store(next, std::memory_order_release);
}

bool PendingRanges::Add(std::span<const Range> ranges) {
  const std::lock_guard lock(mutex_);
  if (ranges.size() > free_words_.size()) return false;
  if (ranges.empty()) return true;
  for (const Range& range : ranges) {
    items_.push_back({range, free_words_.back()});
    free_words_.pop_back();
  }
  // Ranges of one call need not lie in one gap between those of others.
  std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.range.begin < b.range.begin; });
  Publish();
  return true;
}

std::vector<PendingRanges::Item>::iterator PendingRanges::ItemAt(uintptr_t begin) {
  const auto item = std::lower_bound(items_.begin(), items_.end(), begin,
                                     [](const Item& item, uintptr_t value) { return item.range.begin < value; });
  return item != items_.end() && item->range.begin == begin ? item : items_.end();
}

void PendingRanges::Remove(uintptr_t begin) {
  const std::lock_guard lock(mutex_);
  const auto item = ItemAt(begin);
  if (item == items_.end()) return;
  std::atomic<uint32_t>& word = words_[item->word];
  free_words_.push_back(item->word);
  items_.erase(item);
  Publish();
  word.store((word.load(std::memory_order_relaxed) & ~kFailed) + kNextRange, std::memory_order_release);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void PendingRanges::MarkFailed(uintptr_t begin) {
  const std::lock_guard lock(mutex_);
  const auto item = ItemAt(begin);
  if (item == items_.end()) return;
  std::atomic<uint32_t>& word = words_[item->word];
  word.fetch_or(kFailed, std::memory_order_release);
  Publish();
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

std::optional<PendingRanges::Found> PendingRanges::Search(const Copy& copy, uintptr_t address, uint64_t bytes) const {
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
  if (low == count) return std::nullopt;
  const Entry& entry = copy.entries[low];
  Found found;
  found.range = {entry.begin.load(std::memory_order_relaxed), entry.end.load(std::memory_order_relaxed)};
  if (found.range.begin >= address + bytes) return std::nullopt;
  found.word = &words_[entry.word.load(std::memory_order_relaxed)];
  found.value = found.word->load(std::memory_order_acquire);
  found.failed = (found.value & kFailed) != 0;
  return found;
}

std::optional<PendingRanges::Found> PendingRanges::Find(uintptr_t address, uint64_t bytes) const {
  for (;;) {
    const uint32_t before = version_.load(std::memory_order_acquire);
    const std::optional<Found> found = Search(copies_[before % 2], address, bytes);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version_.load(std::memory_order_relaxed) == before) return found;
  }
}

bool PendingRanges::Wait(const Found& found, uint64_t nanoseconds) {
  const timespec patience{static_cast<time_t>(nanoseconds / 1'000'000'000),
                          static_cast<long>(nanoseconds % 1'000'000'000)};
  const auto is_over = [&found] { return found.failed || found.word->load(std::memory_order_acquire) != found.value; };
  if (!is_over()) syscall(SYS_futex, found.word, FUTEX_WAIT_PRIVATE, found.value, &patience, nullptr, 0);
  return is_over();
}

}  // namespace copse::tnbc
