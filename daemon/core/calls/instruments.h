// SPDX-License-Identifier: Apache-2.0
//
// Measures a daemon's calls: latencies, results, and the trace.
#ifndef COPSE_DAEMON_CORE_CALLS_INSTRUMENTS_H_
#define COPSE_DAEMON_CORE_CALLS_INSTRUMENTS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
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
#include "schedule/plan.h"

namespace copse::daemon {

// CallLatencies holds histograms of latencies by collective, size class and part of a call. The histograms of one class
// of a collective, 8 KB, are allocated with its first value. Thread-compatible.
class CallLatencies {
 public:
  // There are this many size classes. Class 0 has calls of no bytes, class k those of [2^(k-1), 2^k) bytes. No call is
  // longer than kCallBytesMax, which the last class includes.
  static constexpr uint32_t kSizeClasses = static_cast<uint32_t>(std::bit_width(schedule::kCallBytesMax)) + 1;
  static uint32_t ClassOf(uint64_t bytes);

  // A barrier counts as a call of no bytes, and a negative duration as 0.
  void Record(Collective collective, uint64_t bytes, schedule::CallPart part, absl::Duration took);
  // Returns the histograms that have a value, ordered by collective, class and part.
  std::vector<schedule::LatencyStatus> Rows() const;

 private:
  using Parts = std::array<Histogram, schedule::kCallPartCount>;
  std::array<std::array<std::unique_ptr<Parts>, kSizeClasses>, kCollectiveCount> classes_;
};

// Instruments measure the calls of one core, which they must outlive. Nodes of the simulator have none unless a test
// sets them. Thread-compatible.
class Instruments {
 public:
  // `trace_records`: number of records that the trace keeps, rounded up to a power of two and at most
  // TraceRing::kRecordsMax; 0: no trace. `*clock` must outlive this object.
  Instruments(const Clock* clock, uint32_t trace_records);

  CallLatencies& latencies() { return latencies_; }
  const CallLatencies& latencies() const { return latencies_; }
  // Returns null if there is no trace.
  emu::TraceRing* trace() const { return trace_.get(); }
  // Returns the number of the trace's next record; 0 if there is no trace.
  uint64_t next_record() const { return trace_ == nullptr ? 0 : trace_->next(); }

  // --- Events of a call ---
  void CallPosted(TeamId team, CallSeq sequence, Rank rank, ClientId client, const CallArguments& arguments,
                  absl::Time now);
  void CallJoined(TeamId team, CallSeq sequence, bool first, bool last, const CallArguments& arguments);
  // A rank is notified that its call has ended; kNone: with success.
  void CallEnded(TeamId team, CallSeq sequence, Rank rank, ClientId client, const CallArguments& arguments,
                 schedule::Failure failure);
  void CallOver(TeamId team, CallSeq sequence);
  void EpochSwitched(TeamId team, EpochId epoch, CallSeq first_call);
  void TeamBroken(TeamId team, schedule::Failure failure);
  void ClientWoken(ClientId client);
  // A call ended with a failure before it had a number in a team.
  void PostRefused() { ++posts_refused_; }

  // Sets calls.COLLECTIVE.ok, for common collectives even if it is 0; calls.COLLECTIVE.FAILURE for failures that
  // occurred; calls.refused; and clients.woken.
  void AppendCounters(std::map<std::string, uint64_t>* counters) const;

 private:
  CallLatencies latencies_;
  const std::unique_ptr<emu::TraceRing> trace_;
  static constexpr int kFailureCount = static_cast<int>(schedule::Failure::kInternal) + 1;
  std::array<std::array<uint64_t, kFailureCount>, kCollectiveCount> ended_{};
  uint64_t posts_refused_ = 0;
  uint64_t clients_woken_ = 0;
};

// OwnRecords says which records of a trace are one user's: those of the user's teams and clients that are here now. All
// other records tell something about other users, those of the loop and of the network when and how much they do.
struct OwnRecords {
  bool Has(uint64_t number, const emu::TraceRecord& record) const;

  // By the low 32 bits of a team's id, the number of its first record. Earlier ones are of another team with these
  // bits.
  std::map<uint32_t, uint64_t> teams;
  std::set<uint32_t> clients;  // low 32 bits of their ids
};

// Returns the reply to `query`, with as many records as it asks for, but at most kTracePieceRecordsMax; those that are
// not among `own` are left out of these. `own` may be null: all are sent. `instruments` may be null: there is no trace.
schedule::TraceReply AnswerTrace(const schedule::TraceQuery& query, const OwnRecords* own,
                                 const Instruments* instruments, absl::Time now);

// Returns a name such as "member_lost"; "ok" for kNone, "unknown" for other numbers than Failure's.
std::string_view FailureName(schedule::Failure failure);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_INSTRUMENTS_H_
