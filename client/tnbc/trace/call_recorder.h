// SPDX-License-Identifier: Apache-2.0
//
// Records which fragments of results a program accesses first, and when (Li et al., T-NBC: the trace). A fragment stays
// inaccessible after its data has arrived until it is accessed, so that the whole order is seen.
#ifndef COPSE_CLIENT_TNBC_TRACE_CALL_RECORDER_H_
#define COPSE_CLIENT_TNBC_TRACE_CALL_RECORDER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/trace/trace_file.h"

namespace copse::tnbc {

class CallRecorder;

// A RecordedCall is the record of one call. It is kept until the process ends, since fault handlers write to it. Times
// are CLOCK_MONOTONIC, ns.
struct RecordedCall {
  struct ClosedRange {
    Range range;
    uint64_t offset = 0;          // in the receive buffer
    std::vector<uint32_t> parts;  // numbers of the fragments that it contains
    uint64_t there_ns = 0;        // when its data had arrived; 0: it has not
    FirstAccess access;
  };
  CallRecorder* recorder = nullptr;
  TraceCall call;                   // without `pieces`, which Finish adds
  std::vector<ClosedRange> pieces;  // not resized once handlers know them
};

// A CallRecorder records calls of a process up to fixed limits, and counts those beyond them. Thread-safe.
class CallRecorder {
 public:
  // `launch` is copied to the TraceFile. `*guard` must outlive this object, which must never be destroyed if calls were
  // recorded, since handlers write to its records.
  CallRecorder(PageGuard* guard, uint64_t launch) : guard_(guard), launch_(launch) {}
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  // Begins the record of a call that is about to be made from `site`, an address in the program; `number` is the call's
  // within its kind. Returns null, and counts the call as left out, if there is no room.
  RecordedCall* Begin(const TraceKind& kind, const void* site, uint64_t number);
  // It is called before the pieces of a call are protected. If too many calls are watched, the oldest ones no longer
  // are: their pieces whose data has arrived become accessible, and later accesses to these are not recorded.
  void LookAt(RecordedCall* call);

  // Makes pieces that are still closed accessible. It is called at the end, when no call is in flight. Returns the
  // trace without rank, ranks, host and pid.
  TraceFile Finish();

 private:
  uint32_t IndexOfKind(const TraceKind& kind);
  uint32_t IndexOfSite(const void* site);

  PageGuard* const guard_;
  const uint64_t launch_;
  std::mutex mutex_;  // guards the members below
  std::deque<RecordedCall> calls_;
  std::deque<RecordedCall*> looked_at_;
  uint64_t pieces_ = 0, left_out_ = 0;
  std::vector<TraceKind> kinds_;
  std::vector<TraceSite> sites_;
  std::map<const void*, uint32_t> site_indices_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TRACE_CALL_RECORDER_H_
