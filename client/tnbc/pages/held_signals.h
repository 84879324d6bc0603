// SPDX-License-Identifier: Apache-2.0
//
// Keeps the program's signal handlers from interrupting code that the completion thread depends on.
#ifndef COPSE_CLIENT_TNBC_PAGES_HELD_SIGNALS_H_
#define COPSE_CLIENT_TNBC_PAGES_HELD_SIGNALS_H_

#include <optional>

#include "client/tnbc/pages/signal_bits.h"

namespace copse::tnbc {

// While a HeldSignals exists, this thread gets no signals that can wait (kSignalsThatCanWait), if there is a PageGuard.
// A handler that accesses pending memory waits for the completion thread; if it interrupted code that holds a lock
// which the completion thread needs, it would wait for ever. So threads of the program have a HeldSignals where they
// take such locks: libcopse's, AsynchronousCompletion's and PendingRanges'. Scopes of a thread may be nested. Cost: two
// system calls for the outermost.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  std::optional<SignalMask> mask_;  // set in the outermost only
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_HELD_SIGNALS_H_
