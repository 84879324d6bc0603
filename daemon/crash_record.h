// SPDX-License-Identifier: Apache-2.0
//
// Leaves what the daemon did last in a file when it dies of a bug; `copsectl trace --crash` reads it.
#ifndef COPSE_DAEMON_CRASH_RECORD_H_
#define COPSE_DAEMON_CRASH_RECORD_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "base/ids.h"
#include "base/process/crash_file.h"
#include "offload_emu/trace_ring.h"

namespace copse::daemon {

// A CrashRecord has counters, which it is given now and then, and the trace, which it reads when the daemon crashes.
// It must live as long as the process.
class CrashRecord {
 public:
  // The file is `path` (docs/reference/instruments.md has its form); empty: there is none. Call it once in a process.
  static CrashRecord* Install(const std::string& path, const std::string& node, Incarnation incarnation);

  // `trace` may be null; else it lives until it is replaced by null.
  void SetTrace(const emu::TraceRing* trace) { trace_.store(trace, std::memory_order_relaxed); }
  // Returns whether the counters are old, and are to be set now.
  bool WantsCounters(absl::Time now) {
    if (now < next_counters_) return false;
    next_counters_ = now + kCountersAge;
    return true;
  }
  void SetCounters(const std::map<std::string, uint64_t>& counters);

 private:
  static constexpr absl::Duration kCountersAge = absl::Seconds(10);

  CrashRecord(const std::string& node, Incarnation incarnation);
  static void Write(CrashWriter& writer, int signal, const void* record);

  std::string head_;
  absl::Time next_counters_ = absl::InfinitePast();
  std::atomic<const emu::TraceRing*> trace_ = nullptr;
  // One of both texts is shown; the other one may be being made.
  std::array<std::string, 2> counters_;
  std::atomic<const std::string*> shown_ = &counters_[0];
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CRASH_RECORD_H_
