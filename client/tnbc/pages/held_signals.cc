// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/held_signals.h"

#include <signal.h>

#include "client/tnbc/pages/page_guard.h"

namespace copse::tnbc {
namespace {

constinit thread_local int depth = 0;  // the number of HeldSignals of this thread

}  // namespace

HeldSignals::HeldSignals() {
  if (depth++ == 0 && PageGuard::Get() != nullptr) mask_.emplace(SIG_BLOCK, kSignalsThatCanWait);
}

HeldSignals::~HeldSignals() {
  mask_.reset();
  --depth;
}

}  // namespace copse::tnbc
