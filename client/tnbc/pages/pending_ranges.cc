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
  items_.reserve(kRangesMax);
  free_words_.reserve(kRangesMax);
  for (uint32_t word = kRangesMax; word-- > 0;) free_words_.push_back(word);
}

void PendingRanges::Publish() {
  if (selector_ != nullptr) selector_->store(items_.empty() ? 0 : 1, std::memory_order_relaxed);
  index_.Publish(items_);
}

// Settled ranges are taken out first, since the program may have mapped other memory there since.
template <typename Ranges>
bool PendingRanges::Insert(const Ranges& ranges, std::span<FirstAccess* const> accesses) {
  TakeOutSettled();
  if (ranges.size() > free_words_.size()) return false;
  for (const auto& range : ranges) {
    const IndexedRange new_item{RangeOf(range), 0, nullptr, nullptr};
    const auto next =
        std::lower_bound(items_.begin(), items_.end(), new_item,
                         [](const IndexedRange& a, const IndexedRange& b) { return a.range.end <= b.range.begin; });
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
                     [](const IndexedRange& a, const IndexedRange& b) { return a.range.begin < b.range.begin; });
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

PendingRanges::Items::iterator PendingRanges::ItemAt(uintptr_t begin) {
  const auto item =
      std::lower_bound(items_.begin(), items_.end(), begin,
                       [](const IndexedRange& item, uintptr_t value) { return item.range.begin < value; });
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

void PendingRanges::TakeOut(Items::iterator item) {
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
  // Release: pairs with the acquires in Find and Wait.
  if (!word.compare_exchange_strong(pending, WithState(pending, state), std::memory_order_release)) return;
  Publish();
  Wake(&word);
}

bool PendingRanges::BeginOpening(const Found& found) {
  uint32_t value = found.value;
  // seq_cst: lets one thread open the range; pairs with the acquire in Find.
  return found.state == PageState::kArrived &&
         found.word->compare_exchange_strong(value, WithState(value, PageState::kOpening));
}

void PendingRanges::EndOpening(const Found& found) {
  uint32_t opening = WithState(found.value, PageState::kOpening);
  // Release: pairs with the acquires in Find and Wait. Another thread may have taken the range out.
  found.word->compare_exchange_strong(opening, WithState(opening, PageState::kOpen), std::memory_order_release);
  Wake(found.word);
}

std::optional<PendingRanges::Found> PendingRanges::Find(uintptr_t address, uint64_t bytes) const {
  Found found;
  const bool is_there = index_.Find(address, bytes, [&](const IndexedRange& entry) {
    std::atomic<uint32_t>* const word = &words_[entry.word];
    const uint32_t value = word->load(std::memory_order_acquire);  // pairs with the releases in Mark and EndOpening
    found = {entry.range, word, entry.access, value, StateOf(value), entry.copy};
    return found.state != PageState::kSettled;
  });
  return is_there ? std::optional(found) : std::nullopt;
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
