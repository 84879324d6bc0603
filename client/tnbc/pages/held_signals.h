// SPDX-License-Identifier: Apache-2.0
//
// Keeps the program's signal handlers away from what the completion thread needs.
#ifndef COPSE_CLIENT_TNBC_PAGES_HELD_SIGNALS_H_
#define COPSE_CLIENT_TNBC_PAGES_HELD_SIGNALS_H_

#include <optional>

#include "client/tnbc/pages/signal_bits.h"

namespace copse::tnbc {

// While one exists, this thread gets no signals that can wait, if there is a PageGuard. A handler that accesses pending
// memory waits for the completion thread; if it interrupted code that holds a lock of the completion thread, it would
// wait for ever. So threads of the program have one where they take such locks: libcopse's,
// AsynchronousCompletion's and PendingRanges'. They may be nested, in one scope within the other. Cost: two system
// calls of the outermost.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  std::optional<SignalMask> mask_;  // of the outermost
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_HELD_SIGNALS_H_
