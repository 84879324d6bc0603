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

// Each returns an object whose keys are lists of rows as `copsectl -w json` has them. Errors: those of AdminClient.

// What changes often: nodes; teams without their members; events, the last ones.
absl::StatusOr<ctl::Json> AskLists(ctl::AdminClient* client);
// What takes the planner questions to all daemons, or changes seldom: calls in flight, what calls took in the whole
// cluster (latency), topology, audit. `audit` is null where a viewer may not see it.
absl::StatusOr<ctl::Json> AskDetails(ctl::AdminClient* client);
// One team with its members, and its plans.
absl::StatusOr<ctl::Json> AskTeam(ctl::AdminClient* client, uint64_t id);

}  // namespace copse::web

#endif  // COPSE_CLI_WEB_CLUSTER_JSON_H_
