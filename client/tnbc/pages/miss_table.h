// SPDX-License-Identifier: Apache-2.0
//
// Addresses that threads have looked for in vain, so that a fault is tried again once and not for ever.
#ifndef COPSE_CLIENT_TNBC_PAGES_MISS_TABLE_H_
#define COPSE_CLIENT_TNBC_PAGES_MISS_TABLE_H_

#include <sys/syscall.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "client/tnbc/pages/free_syscall.h"

namespace copse::tnbc {

// Thread-safe and async-signal-safe.
class MissTable {
 public:
  // Returns whether this thread has missed the address before in an index of this version: then it is not ours.
  bool IsSecond(uintptr_t address, uint64_t version) {
    const auto thread = static_cast<uint64_t>(Free(SYS_gettid));
    const uint64_t miss = Mix(Mix(thread) ^ address) ^ version;
    return misses_[Mix(thread) % kMisses].exchange(miss, std::memory_order_relaxed) == miss;
  }

 private:
  static constexpr size_t kMisses = 1024;
  static uint64_t Mix(uint64_t value) {
    value = (value ^ (value >> 31)) * 0x7fb5d329728ea185;
    return value ^ (value >> 27);
  }

  std::atomic<uint64_t> misses_[kMisses] = {};  // by a hash of the thread: one of the address and the version
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_MISS_TABLE_H_
