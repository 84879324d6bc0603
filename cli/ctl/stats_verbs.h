// SPDX-License-Identifier: Apache-2.0
//
// Implements the verbs `stats`, `ping` and `version`, which show the state that daemons and the planner report.
#ifndef COPSE_CLI_CTL_STATS_VERBS_H_
#define COPSE_CLI_CTL_STATS_VERBS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/ctl/style.h"
#include "cli/ctl/verb.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

std::vector<Verb> StatsVerbs();

// Renders the counters of each node: as a table without those that are 0, or as JSON with all.
std::string RenderStats(const v1::GetStatsReply& reply, const Style& style);
// Renders the changes of counters between two replies that were received `apart` from each other. The table has only
// counters that changed; JSON also has the values of all. Nodes that `before` lacks are left out.
std::string RenderChanges(const v1::GetStatsReply& before, const v1::GetStatsReply& after, absl::Duration apart,
                          const Style& style);
// Renders percentiles of the calls' durations for each node, by collective, size class and part of the call. The table
// adds the total of several nodes; JSON adds the counters. Rows that are not valid histograms are left out.
std::string RenderLatencies(const v1::GetStatsReply& reply, const Style& style);
// Renders the reply. `round_trip` is the time from copsectl to the planner and back, which includes the planner's ping
// of the daemon of `node`; `node` is empty if only the planner was pinged.
std::string RenderPing(const v1::PingReply& reply, const std::string& node, absl::Duration round_trip,
                       const Style& style);
std::string RenderVersion(const v1::VersionReply& reply, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_STATS_VERBS_H_
