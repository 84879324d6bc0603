// SPDX-License-Identifier: Apache-2.0
//
// What a daemon measures of its calls: how long they took, how they ended, and the trace.
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

// Histograms of what calls took, by collective, size class and part. A class's histograms are made when its first call
// ends, 8 KB; there are at most kCollectiveCount * kSizeClasses. Thread-compatible.
class CallLatencies {
 public:
  // Class 0: no bytes; class k: [2^(k-1), 2^k). Longer ones than the last class's count there.
  static constexpr uint32_t kSizeClasses = 32;
  static uint32_t ClassOf(uint64_t bytes);

  void Record(Collective collective, uint64_t bytes, schedule::CallPart part, absl::Duration took);
  // Rows by collective, class and part; those of parts without a value are left out.
  std::vector<schedule::LatencyStatus> Rows() const;

 private:
  using Parts = std::array<Histogram, schedule::kCallPartCount>;
  std::array<std::array<std::unique_ptr<Parts>, kSizeClasses>, kCollectiveCount> classes_;
};

// Instruments outlive the core that is given them, and serve that one core. The simulator's nodes have none unless a
// test asks. Thread-compatible.
class Instruments {
 public:
  // `trace_records`: of the ring; 0: no trace. `*clock` outlives it.
  Instruments(const Clock* clock, uint32_t trace_records);

  CallLatencies& latencies() { return latencies_; }
  const CallLatencies& latencies() const { return latencies_; }
  emu::TraceRing* trace() const { return trace_.get(); }  // null: off

  // --- What befalls a call ---
  void CallPosted(TeamId team, CallSeq sequence, Rank rank, ClientId client, const CallArguments& arguments,
                  absl::Time now);
  void CallJoined(TeamId team, CallSeq sequence, bool first, bool last, const CallArguments& arguments);
  // A rank has been told; kNone: success.
  void CallEnded(TeamId team, CallSeq sequence, Rank rank, ClientId client, const CallArguments& arguments,
                 schedule::Failure failure);
  void CallOver(TeamId team, CallSeq sequence);
  void EpochSwitched(TeamId team, EpochId epoch, CallSeq first_call);
  void TeamBroken(TeamId team, schedule::Failure failure);
  void ClientWoken(ClientId client);
  // A post that never got a number.
  void PostRefused() { ++posts_refused_; }

  // calls.COLLECTIVE.ok, calls.COLLECTIVE.FAILURE for failures that came, calls.refused, clients.woken.
  void AppendCounters(std::map<std::string, uint64_t>* counters) const;

 private:
  CallLatencies latencies_;
  const std::unique_ptr<emu::TraceRing> trace_;
  static constexpr int kFailureCount = static_cast<int>(schedule::Failure::kInternal) + 1;
  std::array<std::array<uint64_t, kFailureCount>, kCollectiveCount> ended_{};
  uint64_t posts_refused_ = 0;
  uint64_t clients_woken_ = 0;
};

// What `query` asks of the trace; `instruments` may be null, which says that it is off.
schedule::TraceReply AnswerTrace(const schedule::TraceQuery& query, const Instruments* instruments, absl::Time now);

// "member_lost".
std::string_view FailureName(schedule::Failure failure);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_INSTRUMENTS_H_
