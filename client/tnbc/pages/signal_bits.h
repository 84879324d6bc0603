// SPDX-License-Identifier: Apache-2.0
//
// Defines signals as bits of the kernel's masks, and a scope in which a thread has another mask.
#ifndef COPSE_CLIENT_TNBC_PAGES_SIGNAL_BITS_H_
#define COPSE_CLIENT_TNBC_PAGES_SIGNAL_BITS_H_

#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>

#include "client/tnbc/pages/free_syscall.h"

namespace copse::tnbc {

constexpr uint64_t SignalBit(int signal) { return uint64_t{1} << (signal - 1); }

// These are all signals except those that code raises by its own fault, SIGSYS and SIGABRT.
inline constexpr uint64_t kSignalsThatCanWait =
    ~(SignalBit(SIGSEGV) | SignalBit(SIGBUS) | SignalBit(SIGFPE) | SignalBit(SIGILL) | SignalBit(SIGTRAP) |
      SignalBit(SIGSYS) | SignalBit(SIGABRT));

// While a SignalMask exists, this thread's mask is changed (`how` as for sigprocmask). It does not call libc's
// function, since the preload's wrapper of that records what the program blocks. Async-signal-safe.
class SignalMask {
 public:
  SignalMask(int how, uint64_t set) { Free(SYS_rt_sigprocmask, how, &set, &before_, sizeof(set)); }
  ~SignalMask() { Free(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof(before_)); }
  SignalMask(const SignalMask&) = delete;
  SignalMask& operator=(const SignalMask&) = delete;

 private:
  uint64_t before_ = 0;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_SIGNAL_BITS_H_
