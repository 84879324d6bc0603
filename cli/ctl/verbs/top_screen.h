// SPDX-License-Identifier: Apache-2.0
//
// Draws what `copsectl top` shows: a cluster on one screen.
#ifndef COPSE_CLI_CTL_VERBS_TOP_SCREEN_H_
#define COPSE_CLI_CTL_VERBS_TOP_SCREEN_H_

#include <string>

#include "absl/time/time.h"
#include "cli/client/style.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// ClusterSample is what a planner and its daemons said at one time.
struct ClusterSample {
  v1::GetPlannerStatusReply planner;
  v1::ListNodesReply nodes;
  v1::ListTeamsReply teams;
  v1::ListCollectivesReply calls;
  v1::GetStatsReply stats;
};

struct TopLimits {
  size_t calls = 8;   // the oldest in flight
  size_t nodes = 10;  // those whose ranks made most calls, then those that used most processor time
};

// Draws `now`: nodes and teams by state, the oldest calls in flight and who is missing, and the busiest nodes with what
// they did since `before`, which was sampled `apart` earlier. Nodes that `before` lacks have done nothing. JSON is an
// object: planner, nodes, teams, calls, busiest, silent.
std::string RenderTop(const ClusterSample& before, const ClusterSample& now, absl::Duration apart,
                      const TopLimits& limits, const Style& style);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_VERBS_TOP_SCREEN_H_
