// SPDX-License-Identifier: Apache-2.0
//
// Opens pages, and keeps a list of those that the kernel cannot open yet, for want of mappings (vm.max_map_count).
#ifndef COPSE_CLIENT_TNBC_PAGES_PAGE_OPENER_H_
#define COPSE_CLIENT_TNBC_PAGES_PAGE_OPENER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/tnbc/pages/pending_ranges.h"

namespace copse::tnbc {

// A PageOpener makes ranges accessible. A range that it cannot open is left closed until the kernel has room for its
// mappings, or until its neighbor is opened, too. Thread-safe and async-signal-safe: a thread holds signals while it
// has the lock, and if TryOpenLeft or IsLeft finds the lock taken, its caller tries again later. Allocates nothing,
// since the completion thread, which opens pages, must not.
class PageOpener {
 public:
  // Ranges that were left closed are removed from `*ranges` once they are open.
  explicit PageOpener(PendingRanges* ranges) : ranges_(ranges) { left_.reserve(PendingRanges::kRangesMax); }
  PageOpener(const PageOpener&) = delete;
  PageOpener& operator=(const PageOpener&) = delete;

  // Makes the pages accessible. Returns false if they are left closed for now; true also if they are no longer mapped.
  bool Open(const Range& range);
  bool has_left() const { return left_count_ != 0; }
  // Opens the ranges that are left, as far as the kernel allows.
  void OpenLeft();
  // Opens the ranges that are left before more pages are closed, which they may overlap. Returns whether none is left.
  bool HasOpenedAll();
  // Returns whether a range that is left contains the address, or may contain it as the lock is taken.
  bool IsLeft(uintptr_t address);

 private:
  void TryOpenLeft();

  PendingRanges* const ranges_;
  std::atomic<bool> lock_{false};  // taken with acquire, given up with release; guards left_
  std::atomic<size_t> left_count_{0};
  std::vector<Range> left_;  // ascending; its capacity is enough for all ranges
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PAGE_OPENER_H_
