// SPDX-License-Identifier: Apache-2.0
//
// Remembers addresses of faults that are not in the index, so that an access is repeated once and not for ever.
#ifndef COPSE_CLIENT_TNBC_PAGES_MISS_TABLE_H_
#define COPSE_CLIENT_TNBC_PAGES_MISS_TABLE_H_

#include <sys/syscall.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "client/tnbc/pages/free_syscall.h"

namespace copse::tnbc {

// A MissTable holds a hash of the latest miss of each thread. Thread-safe and async-signal-safe.
class MissTable {
 public:
  // Returns whether this thread's latest miss was at the same address in the same version of the index, and in the same
  // frame of the stack, which the kernel makes for a fault: then the access was repeated, and the memory is not the
  // library's. Otherwise records the miss.
  bool IsSecond(uintptr_t address, const void* frame, uint64_t version) {
    const auto thread = static_cast<uint64_t>(Free(SYS_gettid));
    const uint64_t miss = Mix(Mix(Mix(thread) ^ reinterpret_cast<uintptr_t>(frame)) ^ address) ^ version;
    return misses_[Mix(thread) % kMisses].exchange(miss, std::memory_order_relaxed) == miss;
  }

 private:
  static constexpr size_t kMisses = 1024;
  static uint64_t Mix(uint64_t value) {
    value = (value ^ (value >> 31)) * 0x7fb5d329728ea185;
    return value ^ (value >> 27);
  }

  std::atomic<uint64_t> misses_[kMisses] = {};  // by a hash of the thread: a hash of thread, frame, address and version
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_MISS_TABLE_H_
