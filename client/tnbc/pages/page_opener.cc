// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/page_opener.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>

#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/page_rights.h"
#include "client/tnbc/pages/signal_bits.h"

namespace copse::tnbc {

// Signals are held while this thread has the lock, so that no handler waits for the lock of the thread that it has
// interrupted.

// mprotect() fails with ENOMEM if the process has too many mappings: opening the middle of a closed mapping adds two.
bool PageOpener::Open(const Range& range) {
  if (Free(SYS_mprotect, range.begin, range.bytes(), PROT_READ | PROT_WRITE) != -ENOMEM) return true;
  // Memory that is no longer mapped need not be opened; msync() detects that.
  if (Free(SYS_msync, range.begin, range.bytes(), MS_ASYNC) != 0) return true;
  const SignalMask held(SIG_BLOCK, kSignalsThatCanWait);
  while (lock_.exchange(true, std::memory_order_acquire)) Free(SYS_sched_yield);  // pairs with the releases of lock_
  const bool has_room = left_.size() < left_.capacity();
  if (has_room) {
    const auto behind = std::upper_bound(left_.begin(), left_.end(), range,
                                         [](const Range& a, const Range& b) { return a.begin < b.begin; });
    left_.insert(behind, range);
    left_count_ = left_.size();
  }
  lock_.store(false, std::memory_order_release);  // pairs with the next acquire of lock_
  return !has_room;
}

void PageOpener::OpenLeft() {
  const SignalMask held(SIG_BLOCK, kSignalsThatCanWait);
  TryOpenLeft();
}

// Opens adjacent ranges together: the more of a mapping they cover, the fewer new mappings they need.
void PageOpener::TryOpenLeft() {
  if (lock_.exchange(true, std::memory_order_acquire)) return;  // pairs with the releases of lock_
  for (size_t first = 0; first < left_.size();) {
    size_t last = first;
    while (last + 1 < left_.size() && left_[last + 1].begin == left_[last].end) ++last;
    if (SetRights({left_[first].begin, left_[last].end}, PROT_READ | PROT_WRITE)) {
      for (size_t i = first; i <= last; ++i) ranges_->Remove(left_[i].begin);
      left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(first),
                  left_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    } else {
      first = last + 1;
    }
  }
  left_count_ = left_.size();
  lock_.store(false, std::memory_order_release);  // pairs with the next acquire of lock_
}

bool PageOpener::HasOpenedAll() {
  if (has_left()) OpenLeft();
  return !has_left();
}

bool PageOpener::IsLeft(uintptr_t address) {
  const SignalMask held(SIG_BLOCK, kSignalsThatCanWait);
  if (lock_.exchange(true, std::memory_order_acquire)) return true;  // pairs with the releases of lock_
  const bool found = std::any_of(left_.begin(), left_.end(), [address](const Range& range) {
    return range.begin <= address && address < range.end;
  });
  lock_.store(false, std::memory_order_release);  // pairs with the next acquire of lock_
  return found;
}

}  // namespace copse::tnbc
