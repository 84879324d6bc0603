// SPDX-License-Identifier: Apache-2.0
//
// Which fragments of results a program accesses first, and when (Li et al., T-NBC: the trace). A fragment stays
// inaccessible after its data is there until it is accessed, so that the whole order is seen.
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

// One call, from its beginning to the end of the process: handlers write to it. Times are of CLOCK_MONOTONIC, ns.
struct RecordedCall {
  struct ClosedRange {
    Range range;
    uint64_t offset = 0;  // in the receive buffer
    std::vector<uint32_t> parts;
    uint64_t there_ns = 0;
    FirstAccess access;
  };
  CallRecorder* recorder = nullptr;
  TraceCall call;                   // but for the pieces
  std::vector<ClosedRange> pieces;  // sized once
};

// Records the calls of a process, as many as there is room for. Thread-safe.
class CallRecorder {
 public:
  // `launch`: as TraceFile has it.
  CallRecorder(PageGuard* guard, uint64_t launch) : guard_(guard), launch_(launch) {}
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  // Begins the record of a call that is about to be made, from `site`, an address in the program; it is kept until the
  // process ends. Returns null, leaving the call out, if there is no room.
  RecordedCall* Begin(const TraceKind& kind, const void* site, uint64_t number);
  // Called when the pieces of a call are about to be protected: pieces of much older calls are no longer watched.
  void LookAt(RecordedCall* call);

  // Called at the end, when nothing is under way: closed pieces become accessible. The caller fills in the rest of the
  // file.
  TraceFile Finish();

 private:
  uint32_t IndexOfKind(const TraceKind& kind);
  uint32_t IndexOfSite(const void* site);

  PageGuard* const guard_;
  const uint64_t launch_;
  std::mutex mutex_;  // guards what follows
  std::deque<RecordedCall> calls_;
  std::deque<RecordedCall*> looked_at_;
  uint64_t pieces_ = 0, left_out_ = 0;
  std::vector<TraceKind> kinds_;
  std::vector<TraceSite> sites_;
  std::map<const void*, uint32_t> site_indices_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TRACE_CALL_RECORDER_H_
