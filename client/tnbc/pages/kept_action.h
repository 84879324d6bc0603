// SPDX-License-Identifier: Apache-2.0
//
// The program's own action for a signal whose handler is ours.
#ifndef COPSE_CLIENT_TNBC_PAGES_KEPT_ACTION_H_
#define COPSE_CLIENT_TNBC_PAGES_KEPT_ACTION_H_

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>

namespace copse::tnbc {

// Handlers read the action, so a change is published by its pointer: release, read with acquire.
using KeptAction = std::atomic<const struct sigaction*>;

// Does what sigaction() does, with the kept action in place of the kernel's. Actions that were replaced are never
// freed: a handler may be reading one. Thread-safe.
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
