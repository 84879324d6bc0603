// SPDX-License-Identifier: Apache-2.0
//
// Measurements of a daemon's calls: latencies, results, and the trace.
#ifndef COPSE_DAEMON_CORE_CALLS_INSTRUMENTS_H_
#define COPSE_DAEMON_CORE_CALLS_INSTRUMENTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/client_interface.h"
#include "offload_emu/trace_ring.h"
#include "protocol/control.h"

namespace copse::daemon {

// Histograms of latencies by collective, size class and part of a call. Those of a class, 8 KB, are allocated when its
// first call ends; there are at most kCollectiveCount * kSizeClasses. Thread-compatible.
class CallLatencies {
 public:
  // Class 0: no bytes; class k: [2^(k-1), 2^k). The last class has all longer calls, too.
  static constexpr uint32_t kSizeClasses = 32;
  static uint32_t ClassOf(uint64_t bytes);

  void Record(Collective collective, uint64_t bytes, schedule::CallPart part, absl::Duration took);
  // Rows are ordered by collective, class and part. Parts without a value have none.
  std::vector<schedule::LatencyStatus> Rows() const;

 private:
  using Parts = std::array<Histogram, schedule::kCallPartCount>;
  std::array<std::array<std::unique_ptr<Parts>, kSizeClasses>, kCollectiveCount> classes_;
};

// Instruments serve one core and outlive it. Nodes of the simulator have none unless a test sets them.
// Thread-compatible.
class Instruments {
 public:
  // `trace_records`: the ring's size; 0: no trace. `*clock` outlives it.
  Instruments(const Clock* clock, uint32_t trace_records);

  CallLatencies& latencies() { return latencies_; }
  const CallLatencies& latencies() const { return latencies_; }
  emu::TraceRing* trace() const { return trace_.get(); }  // null: off

  // --- Events of a call ---
  void CallPosted(TeamId team, CallSeq sequence, Rank rank, ClientId client, const CallArguments& arguments,
                  absl::Time now);
  void CallJoined(TeamId team, CallSeq sequence, bool first, bool last, const CallArguments& arguments);
  // A rank was notified of the end; kNone: success.
  void CallEnded(TeamId team, CallSeq sequence, Rank rank, ClientId client, const CallArguments& arguments,
                 schedule::Failure failure);
  void CallOver(TeamId team, CallSeq sequence);
  void EpochSwitched(TeamId team, EpochId epoch, CallSeq first_call);
  void TeamBroken(TeamId team, schedule::Failure failure);
  void ClientWoken(ClientId client);
  // A post was refused before it had a number.
  void PostRefused() { ++posts_refused_; }

  // Adds calls.COLLECTIVE.ok, calls.COLLECTIVE.FAILURE for failures that occurred, calls.refused, clients.woken.
  void AppendCounters(std::map<std::string, uint64_t>* counters) const;

 private:
  CallLatencies latencies_;
  const std::unique_ptr<emu::TraceRing> trace_;
  static constexpr int kFailureCount = static_cast<int>(schedule::Failure::kInternal) + 1;
  std::array<std::array<uint64_t, kFailureCount>, kCollectiveCount> ended_{};
  uint64_t posts_refused_ = 0;
  uint64_t clients_woken_ = 0;
};

// Answers `query`. `instruments` may be null: the trace is off.
schedule::TraceReply AnswerTrace(const schedule::TraceQuery& query, const Instruments* instruments, absl::Time now);

// Returns a name such as "member_lost".
std::string_view FailureName(schedule::Failure failure);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_INSTRUMENTS_H_
