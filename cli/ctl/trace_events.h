// SPDX-License-Identifier: Apache-2.0
//
// Daemons' traces as one picture: the Trace Event Format, which Perfetto and Chrome open.
#ifndef COPSE_CLI_CTL_TRACE_EVENTS_H_
#define COPSE_CLI_CTL_TRACE_EVENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace copse::ctl {

inline constexpr uint32_t kTraceRecordBytes = 32;

// One record as docs/reference/instruments.md draws it.
struct TraceRecord {
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

// What one daemon told.
struct NodeTrace {
  std::string name;
  uint64_t incarnation = 0;
  std::string clock;  // the same for nodes that read the same clock
  // The daemon's clock stood at `now_ns` when the planner's was at `planner_ns`, give or take `doubt_ns`.
  int64_t now_ns = 0;
  int64_t planner_ns = 0;
  int64_t doubt_ns = 0;
  std::vector<TraceRecord> records;  // by time

  // INVALID_ARGUMENT: no whole records.
  absl::Status Append(std::string_view bytes);
};

struct TraceEvents {
  std::string json;
  uint64_t events = 0;
  uint64_t flows = 0;   // packets that were seen at both ends
  double doubt_us = 0;  // by how much times of different nodes may be wrong against each other; 0: one clock
};

// A process for each node, in it a thread for the loop, one for the engine, and one or more for each client: calls of
// one rank that overlap lie side by side. Times are microseconds since the first event.
//
// Nodes with different clocks are brought together by the planner's, and where packets went both ways between two
// clocks, so that the fastest packets took as long in both directions: no packet arrives before it was sent.
TraceEvents MakeTraceEvents(const std::vector<NodeTrace>& nodes, std::optional<uint64_t> team);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TRACE_EVENTS_H_
