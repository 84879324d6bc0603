// SPDX-License-Identifier: Apache-2.0
//
// Converts daemons' traces to one document in the Trace Event Format, which Perfetto and Chrome can open.
#ifndef COPSE_CLI_CTL_VERBS_TRACE_EVENTS_H_
#define COPSE_CLI_CTL_VERBS_TRACE_EVENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace copse::ctl {

inline constexpr uint32_t kTraceRecordBytes = 32;

// TraceRecord is one record in the layout of docs/reference/instruments.md.
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

  // Parses `bytes` and appends the records. Errors: INVALID_ARGUMENT if `bytes` is not a whole number of records.
  absl::Status Append(std::string_view bytes);
};

struct TraceEvents {
  std::string json;
  uint64_t events = 0;
  uint64_t flows = 0;   // packets that were seen at both ends
  double doubt_us = 0;  // largest estimated error of two clocks against each other; 0 if all nodes read one clock
};

// Makes a process for each node, with a thread for the loop, one for the engine, and one for each client; a client
// whose calls overlap has several. Times are microseconds since the first event. With `team`, events of other teams are
// left out.
//
// Nodes with different clocks are aligned by the planner's clock, and then by their packets: if packets went both ways
// between two clocks, so that the fastest ones took equally long in both directions; if they went one way, so that none
// arrives before it was sent. Packets that still arrive too early are left out.
TraceEvents MakeTraceEvents(const std::vector<NodeTrace>& nodes, std::optional<uint64_t> team);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_TRACE_EVENTS_H_
