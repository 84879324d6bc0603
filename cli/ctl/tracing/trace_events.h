// SPDX-License-Identifier: Apache-2.0
//
// Converts daemons' traces to one document in the Trace Event Format, which Perfetto and Chrome can open.
#ifndef COPSE_CLI_CTL_TRACING_TRACE_EVENTS_H_
#define COPSE_CLI_CTL_TRACING_TRACE_EVENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/ctl/tracing/trace_records.h"

namespace copse::ctl {

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

#endif  // COPSE_CLI_CTL_TRACING_TRACE_EVENTS_H_
