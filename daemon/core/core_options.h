// SPDX-License-Identifier: Apache-2.0
//
// The options of a daemon's core.
#ifndef COPSE_DAEMON_CORE_CORE_OPTIONS_H_
#define COPSE_DAEMON_CORE_CORE_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "daemon/core/calls/instruments.h"
#include "protocol/control.h"

namespace copse::daemon {

struct CoreOptions {
  schedule::NodeAnnouncement node;
  absl::Duration heartbeat = absl::Milliseconds(500);
  absl::Duration node_timeout = absl::Seconds(10);
  absl::Duration stall_probe = absl::Seconds(1);  // a call older than this compares arguments with its neighbors
  // After this time no member waits any more for its team to be formed.
  absl::Duration formation_timeout = absl::Seconds(30);
  // New teams wait so long for a planner that is away: it may be restarting.
  absl::Duration planner_patience = absl::Seconds(5);
  // A prepared epoch older than this asks planner and neighbors for the decision.
  absl::Duration decision_ask = absl::Seconds(2);
  uint32_t clients_max = 1024;
  uint32_t teams_max = 1024;
  uint32_t pending_calls_max = 1024;  // calls of one rank that wait for their slots
  uint64_t memory_limit_bytes = 256u << 20;
  Instruments* instruments = nullptr;  // null: calls are not measured; outlives the core
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CORE_OPTIONS_H_
