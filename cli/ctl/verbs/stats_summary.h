// SPDX-License-Identifier: Apache-2.0
//
// Answers by daemons' counters what administrators ask first: do calls get through, who carries the load, what went
// wrong, and where.
#ifndef COPSE_CLI_CTL_VERBS_STATS_SUMMARY_H_
#define COPSE_CLI_CTL_VERBS_STATS_SUMMARY_H_

#include <cstddef>
#include <string>

#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// Renders a table with a row for each node, after one of all if there are several; then, if anything went wrong, a
// table of what did, how often, and at which node most often. `width` is that of cli::RenderTable.
std::string RenderStatsSummary(const v1::GetStatsReply& reply, size_t width);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_STATS_SUMMARY_H_
