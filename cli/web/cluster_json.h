// SPDX-License-Identifier: Apache-2.0
//
// Asks a planner for what the page shows.
#ifndef COPSE_CLI_WEB_CLUSTER_JSON_H_
#define COPSE_CLI_WEB_CLUSTER_JSON_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "cli/client/admin_client.h"
#include "cli/client/style.h"

namespace copse::web {

// Each returns rows as `copsectl -w json` has them. Errors: those of AdminClient.

// All nodes, without what changes by itself, such as the time since they were last seen.
struct NodeLists {
  ctl::Json nodes = ctl::Json::array();
  // The connected nodes that were not heard for the longest time: {name, last_seen_s}.
  ctl::Json quiet = ctl::Json::array();
};
absl::StatusOr<NodeLists> AskNodes(ctl::AdminClient* client);
// Teams without their members and calls.
absl::StatusOr<ctl::Json> AskTeams(ctl::AdminClient* client);
// The last events.
absl::StatusOr<ctl::Json> AskEvents(ctl::AdminClient* client);
absl::StatusOr<ctl::Json> AskTopology(ctl::AdminClient* client);
// Null where a viewer may not see it.
absl::StatusOr<ctl::Json> AskAudit(ctl::AdminClient* client);
// Calls in flight. The planner asks all daemons.
absl::StatusOr<ctl::Json> AskCalls(ctl::AdminClient* client);
// What calls took in the whole cluster, and StatsJson. The planner asks all daemons.
struct DaemonStats {
  ctl::Json latency = ctl::Json::array();
  ctl::Json stats;
};
absl::StatusOr<DaemonStats> AskStats(ctl::AdminClient* client);
// One team with its members, without its calls.
absl::StatusOr<ctl::Json> AskTeam(ctl::AdminClient* client, uint64_t id);
absl::StatusOr<ctl::Json> AskPlans(ctl::AdminClient* client, uint64_t team);

}  // namespace copse::web

#endif  // COPSE_CLI_WEB_CLUSTER_JSON_H_
