// SPDX-License-Identifier: Apache-2.0
//
// Changes the protection of pages by system calls that the program's own hooks do not see. Async-signal-safe.
#ifndef COPSE_CLIENT_TNBC_PAGES_PAGE_RIGHTS_H_
#define COPSE_CLIENT_TNBC_PAGES_PAGE_RIGHTS_H_

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstddef>

#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/pending_ranges.h"

namespace copse::tnbc {

// Sets the protection of whole pages. Returns whether that succeeds. Does not call libc's mprotect(), since a library
// before libc in the search order may wait there for the memory that this opens.
inline bool SetRights(const Range& range, int rights) {
  return Free(SYS_mprotect, range.begin, range.bytes(), rights) == 0;
}

// Sets the protection of the ranges `range_of(item)` of `items`, which are in ascending order; adjacent ones take one
// system call. Returns false at the first failure.
template <typename Items, typename RangeOf>
bool SetRightsOfAll(const Items& items, int rights, RangeOf range_of) {
  for (size_t i = 0; i < items.size();) {
    size_t last = i;
    while (last + 1 < items.size() && range_of(items[last + 1]).begin == range_of(items[last]).end) ++last;
    if (!SetRights({range_of(items[i]).begin, range_of(items[last]).end}, rights)) return false;
    i = last + 1;
  }
  return true;
}

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_PAGE_RIGHTS_H_
