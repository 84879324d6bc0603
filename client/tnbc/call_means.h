// SPDX-License-Identifier: Apache-2.0
//
// What the pending calls of a context share.
#ifndef COPSE_CLIENT_TNBC_CALL_MEANS_H_
#define COPSE_CLIENT_TNBC_CALL_MEANS_H_

#include <atomic>
#include <cstdint>

#include "client/copse.h"
#include "client/tnbc/pages/copy_memory.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/remapped_memory.h"
#include "client/tnbc/send_snapshot.h"

namespace copse::tnbc {

// Counters of a process. Thread-safe.
struct EarlyCounters {
  std::atomic<uint64_t> early{0};          // calls that returned early
  std::atomic<uint64_t> waited{0};         // fragmented calls that did not: memory that cannot be protected, or no room
  std::atomic<uint64_t> pending_bytes{0};  // of results, at returns
  std::atomic<uint64_t> inside_ns{0};      // in early calls
  std::atomic<uint64_t> behind_ns{0};      // from the starts of early calls to their last data
  std::atomic<uint64_t> breaker_trips{0};
};

// The pointers' objects outlive the calls.
struct CallMeans {
  copse_context_t* context;
  CopyMemory* memory;
  RemappedMemory* remapped;  // null: no memory is remapped
  PageGuard* guard;
  EarlyCounters* counters;
  SendSnapshot::Way way;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CALL_MEANS_H_
