// SPDX-License-Identifier: Apache-2.0
//
// Keeps the program's action for a signal whose handler is the library's.
#ifndef COPSE_CLIENT_TNBC_PAGES_KEPT_ACTION_H_
#define COPSE_CLIENT_TNBC_PAGES_KEPT_ACTION_H_

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>

namespace copse::tnbc {

// A KeptAction points to the action; null: none is kept yet. Handlers read it, so a change stores a new pointer with
// release, which they load with acquire.
using KeptAction = std::atomic<const struct sigaction*>;

// Does what sigaction() does, with the kept action in place of the kernel's; returns -1 with errno ENOMEM if there is
// no memory. Replaced actions are never freed, since a handler may be reading one. Thread-safe.
inline int ReplaceAction(KeptAction* kept, const struct sigaction* next, struct sigaction* previous) {
  const struct sigaction* before = kept->load(std::memory_order_acquire);  // pairs with the exchange
  if (next != nullptr) {
    auto* copy = static_cast<struct sigaction*>(malloc(sizeof(struct sigaction)));
    if (copy == nullptr) {
      errno = ENOMEM;
      return -1;
    }
    *copy = *next;
    before = kept->exchange(copy, std::memory_order_acq_rel);  // pairs with loads by handlers
  }
  if (previous == nullptr) return 0;
  *previous = {};
  if (before != nullptr) *previous = *before;
  return 0;
}

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_KEPT_ACTION_H_
