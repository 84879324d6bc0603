// SPDX-License-Identifier: Apache-2.0
//
// Declares the objects and counters that all pending calls of a context share.
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

// EarlyCounters count the fragmented calls of one context. Thread-safe.
struct EarlyCounters {
  std::atomic<uint64_t> early{0};          // calls that returned early
  std::atomic<uint64_t> waited{0};         // fragmented calls that blocked, for any reason
  std::atomic<uint64_t> pending_bytes{0};  // bytes of the pages that were closed when calls returned
  std::atomic<uint64_t> inside_ns{0};      // time in calls that returned early
  std::atomic<uint64_t> behind_ns{0};      // time from the starts of these calls to their last data
  std::atomic<uint64_t> breaker_trips{0};
};

// CallMeans refers to the services that a call uses. They must outlive the call.
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
