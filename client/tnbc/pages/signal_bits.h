// SPDX-License-Identifier: Apache-2.0
//
// Signals as the kernel has them in masks.
#ifndef COPSE_CLIENT_TNBC_PAGES_SIGNAL_BITS_H_
#define COPSE_CLIENT_TNBC_PAGES_SIGNAL_BITS_H_

#include <signal.h>

#include <cstdint>

namespace copse::tnbc {

constexpr uint64_t SignalBit(int signal) { return uint64_t{1} << (signal - 1); }

// All signals but those that code brings upon itself.
inline constexpr uint64_t kSignalsThatCanWait =
    ~(SignalBit(SIGSEGV) | SignalBit(SIGBUS) | SignalBit(SIGFPE) | SignalBit(SIGILL) | SignalBit(SIGTRAP) |
      SignalBit(SIGSYS) | SignalBit(SIGABRT));

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_SIGNAL_BITS_H_
