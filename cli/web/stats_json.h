// SPDX-License-Identifier: Apache-2.0
//
// Sums up what daemons count, for the page.
#ifndef COPSE_CLI_WEB_STATS_JSON_H_
#define COPSE_CLI_WEB_STATS_JSON_H_

#include "absl/time/time.h"
#include "cli/client/style.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::web {

// Returns what the daemons' counters and accounts say of the whole cluster:
//   time      of the answers, in seconds since 1970
//   answered  number of daemons; `silent` has the names of some others, `silent_count` their number
//   calls     calls that ended well, by collective
//   failures  {node, collective, reason, count}, the most frequent first
//   totals    sums of counters by name, `worst` the nodes with the most of each: {node, value}
//   accounts  {uid, job, nodes, holdings}, of which each has resource, used, and the node where most of the user's
//   limit
//             is used: node, percent (null: there is no limit)
// Lists are cut at a fixed length.
ctl::Json StatsJson(const v1::GetStatsReply& stats, absl::Time now);

}  // namespace copse::web

#endif  // COPSE_CLI_WEB_STATS_JSON_H_
