// SPDX-License-Identifier: Apache-2.0
//
// stats, ping, version: the state that every daemon and the planner report about themselves.
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

// Renders a table without counters that are 0.
std::string RenderStats(const v1::GetStatsReply& reply, const Style& style);
// Renders the changes of counters from `before` to `after`, `apart` from each other: only those that changed.
std::string RenderChanges(const v1::GetStatsReply& before, const v1::GetStatsReply& after, absl::Duration apart,
                          const Style& style);
// Renders percentiles of the calls' durations, by collective, size class and part: each node's, and for several nodes
// also their total. Rows that are no histograms are left out.
std::string RenderLatencies(const v1::GetStatsReply& reply, const Style& style);
// `round_trip` is the time from here to the planner and back. `node` is empty if the planner itself was pinged.
std::string RenderPing(const v1::PingReply& reply, const std::string& node, absl::Duration round_trip,
                       const Style& style);
std::string RenderVersion(const v1::VersionReply& reply, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_STATS_VERBS_H_
