// SPDX-License-Identifier: Apache-2.0
//
// Remembers how calls have used the program's memory lately, which decides what is remapped and sent from.
#ifndef COPSE_CLIENT_TNBC_PAGES_RANGE_HISTORY_H_
#define COPSE_CLIENT_TNBC_PAGES_RANGE_HISTORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "client/tnbc/pages/memory_end.h"
#include "client/tnbc/pages/range_index.h"

namespace copse::tnbc {

// A RecentRanges keeps one item, which has a `range`, for each of the ranges that calls have used recently, found by
// the range's begin.
template <typename Item>
class RecentRanges {
 public:
  static constexpr size_t kItemsMax = 64;

  // Returns the item whose range has this begin, or null.
  Item* Find(uintptr_t begin) {
    const auto at = std::find_if(items_.begin(), items_.end(), [&](const Item& i) { return i.range.begin == begin; });
    return at == items_.end() ? nullptr : &*at;
  }
  // Returns the item whose range has the same begin. If there is none, makes one, in place of an older one if there is
  // no room.
  Item& At(const Range& range) {
    if (Item* const known = Find(range.begin); known != nullptr) return *known;
    const bool has_room = items_.size() < kItemsMax;
    Item& item = has_room ? items_.emplace_back() : items_[next_++ % kItemsMax];
    item = {.range = range};
    return item;
  }
  // Forgets ranges that begin in `range`.
  void EraseWithin(const Range& range) {
    std::erase_if(items_, [&](const Item& i) { return i.range.begin >= range.begin && i.range.begin < range.end; });
  }

 private:
  std::vector<Item> items_;
  size_t next_ = 0;
};

// A UseCounts counts the uses of ranges: one that is used again is worth remapping. Thread-compatible.
class UseCounts {
 public:
  // Counts a use. Returns the range to be remapped, if it has been used often enough: the longest so far with this
  // begin, since the length of results may change from call to call.
  std::optional<Range> Count(const Range& used);
  // The range that begins here was remapped and is ordinary memory again. It has to be used anew before it is remapped,
  // twice as often each time that its contents had to be copied back (MemoryEnd::kStays).
  void Restart(uintptr_t begin, MemoryEnd end);
  void Forget(const Range& range) { recent_.EraseWithin(range); }

 private:
  struct Uses {
    Range range;
    uint32_t count = 0;
    uint32_t wanted = 2;  // before it is remapped
  };
  RecentRanges<Uses> recent_;
};

// A SendRegrets knows from which ranges calls do not send, since the program has had to wait to write there.
// Thread-compatible.
class SendRegrets {
 public:
  // Returns whether the next call may send from the range that begins here. The answer is no eight times after the
  // first Regret, and twice as many times after each further one, up to a limit.
  bool MaySendFrom(uintptr_t begin);
  void Regret(const Range& sent);
  void Forget(const Range& range) { recent_.EraseWithin(range); }

 private:
  struct Regretted {
    Range range;
    uint32_t left = 0, next = 8;  // calls that do not send from it, now and after the next Regret
  };
  RecentRanges<Regretted> recent_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_RANGE_HISTORY_H_
