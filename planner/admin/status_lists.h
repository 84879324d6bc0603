// SPDX-License-Identifier: Apache-2.0
//
// The rows of lists that are made of what daemons say of themselves.
#ifndef COPSE_PLANNER_ADMIN_STATUS_LISTS_H_
#define COPSE_PLANNER_ADMIN_STATUS_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/ids.h"
#include "planner/admin/served_calls.h"
#include "planner/coordinator/coordinator.h"
#include "proto/copse/v1/admin.pb.h"
#include "rpc/authorizer.h"

namespace copse::planner {

// How long daemons are waited for, unless the caller says otherwise; and at most.
inline constexpr absl::Duration kStatusTimeout = absl::Seconds(2);
inline constexpr absl::Duration kStatusTimeoutMax = absl::Minutes(1);

// Returns how long daemons are waited for if the caller says `seconds`; 0, or no number: it says nothing.
absl::Duration StatusTimeout(double seconds);

// A StatusLists makes rows of what daemons answer; where these are more than kAskedNodesMax, of what they reported
// last: an administrator's question must not keep the planner busy, and each daemon that is asked costs two messages.
// Daemons of earlier versions, which report nothing, are asked in any case. Threads: as AdminLists.
class StatusLists {
 public:
  // Asking one takes some 0.15 ms of the planner's processor time.
  static constexpr size_t kAskedNodesMax = 256;

  // With `private_data`, others' jobs are shown to operators and administrators alone.
  StatusLists(coordinator::Coordinator* coordinator, bool private_data)
      : coordinator_(coordinator), has_private_data_(private_data) {}

  // Calls that daemons reported are listed if they are in flight for schedule::kLongCall.
  RowWork<v1::ListCollectivesReply> CollectiveRows(const v1::ListCollectivesRequest& request);
  RowWork<v1::GetStatsReply> StatsRows(const v1::GetStatsRequest& request, const rpc::Principal& who);

  // A CallCounts has the number of calls in flight by team; those of derived teams count for their parents, too.
  using CallCounts = std::map<TeamId, uint32_t>;
  // Asks the nodes' daemons for it, and passes on none if they are more than kAskedNodesMax.
  void CountCalls(const std::vector<std::string>& nodes, std::function<void(std::optional<CallCounts>)> done);
  static std::optional<uint32_t> CallsOf(const std::optional<CallCounts>& counts, TeamId team);

  using Selects = std::function<bool(const coordinator::TeamInfo&)>;
  // Returns the nodes of all teams that are selected, or more than `max` of them.
  std::set<std::string> NodesOf(const Selects& selects, size_t max = SIZE_MAX) const;

 private:
  // StatusSources say of which nodes the daemons are asked, and of which the reports are taken.
  struct StatusSources {
    std::vector<std::string> asked;
    std::vector<std::string> reported;
  };
  // WantedStats are the parts of a daemon's status that a caller wants.
  struct WantedStats {
    bool latencies = false;
    bool accounts = false;
    rpc::Principal who;
  };
  using SelectsLayout = std::function<bool(const schedule::TeamLayout&)>;

  // Returns the sources for these nodes; none: for all that are connected.
  StatusSources SourcesOf(std::vector<std::string> nodes) const;
  // Drops nodes of `reported` that are in no selected team with a reported call. If few are left, they are asked.
  StatusSources WithLongCalls(const SelectsLayout& selects, StatusSources sources) const;
  // Passes on the calls in flight, and the nodes that are silent.
  void MergeCalls(const StatusSources& sources, absl::Duration timeout,
                  std::function<void(std::shared_ptr<coordinator::CallMerge>, std::vector<std::string>)> done);
  // Passes on the status of each daemon as it comes, and at the end the nodes that are silent.
  void Ask(const std::vector<std::string>& nodes, absl::Duration timeout, bool latencies,
           std::function<void(const schedule::DaemonStatus&)> on_status,
           std::function<void(std::vector<std::string>)> done);
  v1::NodeStats RowOf(const schedule::DaemonStatus& status, const WantedStats& parts) const;
  // Adds what the node reported as a row, without decoding it; no row if it has gone. Returns its bytes, at least 1.
  size_t AddReported(const std::string& node, const WantedStats& parts, v1::GetStatsReply* reply) const;
  static void HideJobs(const rpc::Principal& who, v1::NodeStats* row);

  coordinator::Coordinator* const coordinator_;
  const bool has_private_data_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_STATUS_LISTS_H_
