// SPDX-License-Identifier: Apache-2.0
//
// Opens pages, and keeps those for which the kernel has no room for another mapping (vm.max_map_count).
#ifndef COPSE_CLIENT_TNBC_PAGES_PAGE_OPENER_H_
#define COPSE_CLIENT_TNBC_PAGES_PAGE_OPENER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/tnbc/pages/pending_ranges.h"

namespace copse::tnbc {

// A range that is left waits until the kernel has room, or until its neighbor is opened, too. Thread-safe and
// async-signal-safe: a thread that finds the lock taken in TryOpenLeft or IsLeft tries again later, since it may be a
// handler that has interrupted the holder. Allocates nothing, since the thread that opens must not.
class PageOpener {
 public:
  // Removes ranges that were left from `*ranges` once they are open.
  explicit PageOpener(PendingRanges* ranges) : ranges_(ranges) { left_.reserve(PendingRanges::kRangesMax); }
  PageOpener(const PageOpener&) = delete;
  PageOpener& operator=(const PageOpener&) = delete;

  // Makes the pages accessible. Returns false if they are left closed for now.
  bool Open(const Range& range);
  bool has_left() const { return left_count_ != 0; }
  // Opens what it can of the ranges that are left.
  void OpenLeft();
  // Does the same, before more is closed, since a range that is left may be of the same pages. Returns whether all is
  // open.
  bool HasOpenedAll();
  // Returns whether the address is in a range that is left, or may be.
  bool IsLeft(uintptr_t address);

 private:
  void TryOpenLeft();

  PendingRanges* const ranges_;
  std::atomic<bool> lock_{false};  // taken with acquire, given up with release; guards left_
  std::atomic<size_t> left_count_{0};
  std::vector<Range> left_;  // in order; with room for all ranges
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PAGE_OPENER_H_
