// SPDX-License-Identifier: Apache-2.0
//
// Reads the records of daemons' traces.
#ifndef COPSE_CLI_CTL_TRACING_TRACE_RECORDS_H_
#define COPSE_CLI_CTL_TRACING_TRACE_RECORDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace copse::ctl {

inline constexpr uint32_t kTraceRecordBytes = 32;

// TraceRecord is one record in the layout of docs/reference/instruments.md, which has the kinds' numbers.
struct TraceRecord {
  enum Kind : uint8_t {
    kCallPosted = 1,
    kCallArmed = 2,
    kRanksArrived = 3,
    kCallCompleted = 4,
    kCallOver = 5,
    kPacketReceived = 6,
    kPacketSent = 7,
    kFramesSent = 8,
    kReduceBegin = 9,
    kReduceEnd = 10,
    kCopyBegin = 11,
    kCopyEnd = 12,
    kTriggerFired = 13,
    kClientWoken = 14,
    kCreditStall = 15,
    kEpochSwitch = 16,
    kTeamBroken = 17,
    kLoopSleep = 18,
    kLoopWake = 19,
  };

  bool has_team() const { return kind != kClientWoken && kind != kLoopSleep && kind != kLoopWake; }
  bool failed() const { return (flags & 1) != 0; }

  int64_t time_ns = 0;
  uint8_t kind = 0;
  uint8_t flags = 0;
  uint16_t phase = 0;
  uint32_t team = 0;
  uint32_t call = 0;
  uint32_t subject = 0;
  uint32_t peer = 0;
  uint32_t bytes = 0;
};

// A NodeTrace holds the trace of one daemon.
struct NodeTrace {
  std::string name;
  uint64_t incarnation = 0;
  std::string clock;  // id of the clock; nodes with equal ids read one clock
  // The daemon's clock was `now_ns` when the planner's clock was `planner_ns`, with an error of up to `doubt_ns`.
  int64_t now_ns = 0;
  int64_t planner_ns = 0;
  int64_t doubt_ns = 0;
  std::vector<TraceRecord> records;  // by time

  // Returns what packets' records call this daemon.
  uint32_t tag() const { return static_cast<uint32_t>(incarnation ^ (incarnation >> 32)); }
  // Parses `bytes` and appends the records. Errors: INVALID_ARGUMENT if `bytes` is not a whole number of records.
  absl::Status Append(std::string_view bytes);
};

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TRACING_TRACE_RECORDS_H_
