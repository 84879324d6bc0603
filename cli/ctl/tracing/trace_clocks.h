// SPDX-License-Identifier: Apache-2.0
//
// Aligns the clocks of traced nodes, by the packets between them.
#ifndef COPSE_CLI_CTL_TRACING_TRACE_CLOCKS_H_
#define COPSE_CLI_CTL_TRACING_TRACE_CLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/ctl/tracing/trace_records.h"

namespace copse::ctl {

// A PacketEnd is a record of nodes[node].
struct PacketEnd {
  size_t node = 0;
  size_t record = 0;
};
struct Packet {
  PacketEnd sent;
  PacketEnd received;
};

// Returns the packets whose sending and receiving both are in the traces.
std::vector<Packet> MatchPackets(const std::vector<NodeTrace>& nodes);

// An Alignment holds the offsets that are added to the nodes' times, and the largest estimated error of two clocks
// against each other.
struct Alignment {
  std::vector<int64_t> offset_ns;
  int64_t doubt_ns = 0;
};

// Aligns them by the planner's clock, and then by `packets` (MakeTraceEvents).
Alignment Align(const std::vector<NodeTrace>& nodes, const std::vector<Packet>& packets);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TRACING_TRACE_CLOCKS_H_
