// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/pages/held_signals.h"

#include <signal.h>
#include <sys/syscall.h>

#include "client/tnbc/pages/free_syscall.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/signal_bits.h"

namespace copse::tnbc {
namespace {

constinit thread_local int depth = 0;  // of those that this thread has

// Not by libc's name: what stands before that keeps account of what the program blocks.
void Mask(int how, const uint64_t* set, uint64_t* previous) {
  Free(SYS_rt_sigprocmask, how, set, previous, sizeof(*set));
}

}  // namespace

HeldSignals::HeldSignals() : holds_(depth++ == 0 && PageGuard::Get() != nullptr) {
  if (holds_) Mask(SIG_BLOCK, &kSignalsThatCanWait, &before_);
}

HeldSignals::~HeldSignals() {
  if (holds_) Mask(SIG_SETMASK, &before_, nullptr);
  --depth;
}

}  // namespace copse::tnbc
