// SPDX-License-Identifier: Apache-2.0
//
// Defines the options of a daemon's core.
#ifndef COPSE_DAEMON_CORE_CORE_OPTIONS_H_
#define COPSE_DAEMON_CORE_CORE_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "daemon/accounts/quota_rules.h"
#include "daemon/core/calls/instruments.h"
#include "protocol/control.h"

namespace copse::daemon {

struct CoreOptions {
  schedule::NodeAnnouncement node;
  absl::Duration heartbeat = absl::Milliseconds(500);
  absl::Duration node_timeout = absl::Seconds(10);
  // A call's arguments are compared with those of its neighbors from this age on, and again after each such period.
  absl::Duration stall_probe = absl::Seconds(1);
  // Members on other nodes wait for at most this time for a team to be formed.
  absl::Duration formation_timeout = absl::Seconds(30);
  // Requests for teams wait this long for a planner that is away, since it may be restarting.
  absl::Duration planner_patience = absl::Seconds(5);
  // Planner and neighbors are asked for the decision of a prepared epoch from this age on; at most node_timeout / 4 is
  // used.
  absl::Duration decision_ask = absl::Seconds(2);
  uint32_t clients_max = 1024;
  uint32_t teams_max = 1024;
  uint32_t pending_calls_max = 1024;  // calls of one rank in a team that wait to start
  uint64_t memory_limit_bytes = 256u << 20;
  QuotaRules quotas;
  uint32_t (*random)() = nullptr;      // returns random numbers for labels (EngineOptions)
  Instruments* instruments = nullptr;  // null: calls are not measured; must outlive the core
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CORE_OPTIONS_H_
