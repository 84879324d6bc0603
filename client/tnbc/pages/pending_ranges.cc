// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/pending_ranges.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>

#include "client/tnbc/pages/free_syscall.h"

namespace copse::tnbc {
namespace {

void Wake(std::atomic<uint32_t>* word) { Free(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX); }

uint8_t* CopyOf(const Range&) { return nullptr; }
uint8_t* CopyOf(const PendingRanges::Found& snapshot) { return snapshot.copy; }
const Range& RangeOf(const Range& range) { return range; }
const Range& RangeOf(const PendingRanges::Found& snapshot) { return snapshot.range; }

}  // namespace

PendingRanges::PendingRanges() : words_(std::make_unique<std::atomic<uint32_t>[]>(kRangesMax)) {
  for (IndexCopy& copy : copies_) copy.entries = std::make_unique<IndexedRange[]>(kRangesMax);
  items_.reserve(kRangesMax);
  free_words_.reserve(kRangesMax);
  for (uint32_t word = kRangesMax; word-- > 0;) free_words_.push_back(word);
}

// Writes the copy of the index that is not read, and then makes it the one that is read: so a reader never waits for a
// writer, not even for one that it has interrupted. A reader that takes longer than two writers sees another version at
// its end, and searches again. The memory orders are those of Boehm, "Can seqlocks get along with programming language
// memory models?" (MSPC 2012).
void PendingRanges::Publish() {
  if (selector_ != nullptr) selector_->store(items_.empty() ? 0 : 1, std::memory_order_relaxed);
  const uint32_t next = version_.load(std::memory_order_relaxed) + 1;
  IndexCopy& copy = copies_[next % 2];
  std::atomic_thread_fence(std::memory_order_release);  // pairs with the fence in Find
  for (size_t i = 0; i < items_.size(); ++i) {
    copy.entries[i].begin.store(items_[i].range.begin, std::memory_order_relaxed);
    copy.entries[i].end.store(items_[i].range.end, std::memory_order_relaxed);
    copy.entries[i].word.store(items_[i].word, std::memory_order_relaxed);
    copy.entries[i].copy.store(items_[i].copy, std::memory_order_relaxed);
    copy.entries[i].access.store(items_[i].access, std::memory_order_relaxed);
  }
  copy.count.store(items_.size(), std::memory_order_relaxed);
  count_.store(static_cast<uint32_t>(items_.size()), std::memory_order_relaxed);
  version_.store(next, std::memory_order_release);  // pairs with the acquire loads in Find and version()
}

// Settled ranges are taken out first, since the program may have mapped other memory there since.
template <typename Ranges>
bool PendingRanges::Insert(const Ranges& ranges, std::span<FirstAccess* const> accesses) {
  TakeOutSettled();
  if (ranges.size() > free_words_.size()) return false;
  for (const auto& range : ranges) {
    const Item new_item{RangeOf(range), 0, nullptr, nullptr};
    const auto next = std::lower_bound(items_.begin(), items_.end(), new_item,
                                       [](const Item& a, const Item& b) { return a.range.end <= b.range.begin; });
    if (next != items_.end() && next->range.begin < new_item.range.end) return false;
  }
  const auto old_items = static_cast<std::ptrdiff_t>(items_.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    FirstAccess* const access = accesses.empty() ? nullptr : accesses[i];
    items_.push_back({RangeOf(ranges[i]), free_words_.back(), CopyOf(ranges[i]), access});
    free_words_.pop_back();
  }
  // The new ranges may be in several of the gaps between the others.
  std::inplace_merge(items_.begin(), items_.begin() + old_items, items_.end(),
                     [](const Item& a, const Item& b) { return a.range.begin < b.range.begin; });
  if (!ranges.empty()) Publish();
  return true;
}

bool PendingRanges::Add(std::span<const Range> ranges, std::span<FirstAccess* const> accesses) {
  const std::lock_guard lock(mutex_);
  return Insert(ranges, accesses);
}

bool PendingRanges::AddSnapshots(std::span<Found> snapshots) {
  const std::lock_guard lock(mutex_);
  if (!Insert(snapshots)) return false;
  for (Found& snapshot : snapshots) {
    snapshot.word = &words_[ItemAt(snapshot.range.begin)->word];
    snapshot.value = snapshot.word->load(std::memory_order_relaxed);
  }
  return true;
}

void PendingRanges::TakeOutSettled() {
  for (size_t i = items_.size(); i-- > 0;) {
    // Acquire: pairs with the release in Settle.
    const uint32_t value = words_[items_[i].word].load(std::memory_order_acquire);
    if (StateOf(value) == PageState::kSettled) TakeOut(items_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::vector<PendingRanges::Item>::iterator PendingRanges::ItemAt(uintptr_t begin) {
  const auto item = std::lower_bound(items_.begin(), items_.end(), begin,
                                     [](const Item& item, uintptr_t value) { return item.range.begin < value; });
  return item != items_.end() && item->range.begin == begin ? item : items_.end();
}

void PendingRanges::Remove(uintptr_t begin) {
  const std::lock_guard lock(mutex_);
  if (const auto item = ItemAt(begin); item != items_.end()) TakeOut(item);
}

void PendingRanges::Remove(const Found& found) {
  const std::lock_guard lock(mutex_);
  if (IsOfSameRange(found.word->load(std::memory_order_relaxed), found.value)) TakeOut(ItemAt(found.range.begin));
}

void PendingRanges::TakeOut(std::vector<Item>::iterator item) {
  std::atomic<uint32_t>& word = words_[item->word];
  free_words_.push_back(item->word);
  items_.erase(item);
  Publish();
  // Release: pairs with the acquire in Wait, so a thread that has waited sees the range open.
  word.store(NextRange(word.load(std::memory_order_relaxed)), std::memory_order_release);
  Wake(&word);
}

bool PendingRanges::Claim(const Found& snapshot) {
  uint32_t pending = WithState(snapshot.value, PageState::kPending);
  // acq_rel: the exchange lets one thread claim the snapshot. Its acquire pairs with the release in TakeOut, which
  // ended the word's former range.
  return snapshot.word->compare_exchange_strong(pending, WithState(pending, PageState::kCopying),
                                                std::memory_order_acq_rel);
}

void PendingRanges::Settle(const Found& snapshot) {
  // Release: pairs with the acquires in Wait and TakeOutSettled, which see the copy complete.
  snapshot.word->store(WithState(snapshot.value, PageState::kSettled), std::memory_order_release);
  Wake(snapshot.word);
}

bool PendingRanges::AwaitSettled(const Found& snapshot, uint64_t nanoseconds) {
  Found claimed = snapshot;
  claimed.value = WithState(snapshot.value, PageState::kCopying);
  return Wait(claimed, nanoseconds);
}

void PendingRanges::Mark(uintptr_t begin, PageState state) {
  const std::lock_guard lock(mutex_);
  const auto item = ItemAt(begin);
  if (item == items_.end()) return;
  std::atomic<uint32_t>& word = words_[item->word];
  uint32_t pending = WithState(word.load(std::memory_order_relaxed), PageState::kPending);
  // Release: pairs with the acquires in Search and Wait.
  if (!word.compare_exchange_strong(pending, WithState(pending, state), std::memory_order_release)) return;
  Publish();
  Wake(&word);
}

bool PendingRanges::BeginOpening(const Found& found) {
  uint32_t value = found.value;
  // seq_cst: lets one thread open the range; pairs with the acquire in Search.
  return found.state == PageState::kArrived &&
         found.word->compare_exchange_strong(value, WithState(value, PageState::kOpening));
}

void PendingRanges::EndOpening(const Found& found) {
  uint32_t opening = WithState(found.value, PageState::kOpening);
  // Release: pairs with the acquires in Search and Wait. Another thread may have taken the range out.
  found.word->compare_exchange_strong(opening, WithState(opening, PageState::kOpen), std::memory_order_release);
  Wake(found.word);
}

std::optional<PendingRanges::Found> PendingRanges::Search(const IndexCopy& copy, uintptr_t address,
                                                          uint64_t bytes) const {
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
    const IndexedRange& entry = copy.entries[low];
    Found found;
    found.range = {entry.begin.load(std::memory_order_relaxed), entry.end.load(std::memory_order_relaxed)};
    if (found.range.begin >= address + bytes) return std::nullopt;
    found.word = &words_[entry.word.load(std::memory_order_relaxed)];
    found.value = found.word->load(std::memory_order_acquire);  // pairs with the releases in Mark and EndOpening
    found.copy = entry.copy.load(std::memory_order_relaxed);
    found.access = entry.access.load(std::memory_order_relaxed);
    found.state = StateOf(found.value);
    if (found.state != PageState::kSettled) return found;
  }
  return std::nullopt;
}

std::optional<PendingRanges::Found> PendingRanges::Find(uintptr_t address, uint64_t bytes) const {
  for (;;) {
    const uint32_t before = version_.load(std::memory_order_acquire);  // pairs with Publish
    const std::optional<Found> found = Search(copies_[before % 2], address, bytes);
    std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the fence in Publish
    if (version_.load(std::memory_order_relaxed) == before) return found;
  }
}

bool PendingRanges::Wait(const Found& found, uint64_t nanoseconds) {
  const timespec patience{static_cast<time_t>(nanoseconds / 1'000'000'000),
                          static_cast<long>(nanoseconds % 1'000'000'000)};
  // Acquire: pairs with the releases of TakeOut, Settle, Mark and EndOpening.
  const auto is_over = [&found] {
    return found.state == PageState::kFailed || found.word->load(std::memory_order_acquire) != found.value;
  };
  if (!is_over()) Free(SYS_futex, found.word, FUTEX_WAIT_PRIVATE, found.value, &patience);
  return is_over();
}

}  // namespace copse::tnbc
