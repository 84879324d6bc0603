// SPDX-License-Identifier: Apache-2.0
//
// What a daemon's counters (docs/reference/instruments.md) say of its calls and their traffic.
#ifndef COPSE_CLI_CLIENT_NODE_COUNTERS_H_
#define COPSE_CLI_CLIENT_NODE_COUNTERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/copse/v1/admin.pb.h"

namespace copse::ctl {

// What a counter of ended calls, "calls.COLLECTIVE.OUTCOME", counts.
struct EndedCalls {
  std::string_view collective;
  std::string_view outcome;  // "ok", or the failure

  bool ok() const { return outcome == "ok"; }
};

// Returns what the counter of this name counts, which must outlive the result; nothing if it counts no ended calls.
std::optional<EndedCalls> AsEndedCalls(std::string_view name);

// Returns a counter's value; 0 if the daemon, maybe of another version, has none of this name.
uint64_t ValueOf(const v1::NodeStats& stats, std::string_view name);

// Returns the age of the oldest row that a daemon reported without having been asked; 0: all were asked.
double OldestReportS(const v1::GetStatsReply& reply);
// Returns the seconds in which the counters of `before` became those of `after`; `asked`: between the two requests.
double SecondsBetween(const v1::NodeStats& before, const v1::NodeStats& after, double asked);

// Returns the number of calls that ended well, once for each rank at the node.
uint64_t CallsDone(const v1::NodeStats& stats);
// Returns the number of those that failed, refused posts apart.
uint64_t CallsFailed(const v1::NodeStats& stats);

}  // namespace copse::ctl

#endif  // COPSE_CLI_CLIENT_NODE_COUNTERS_H_
