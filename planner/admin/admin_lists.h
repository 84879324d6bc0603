// SPDX-License-Identifier: Apache-2.0
//
// The rows of the planner's lists.
#ifndef COPSE_PLANNER_ADMIN_ADMIN_LISTS_H_
#define COPSE_PLANNER_ADMIN_ADMIN_LISTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "planner/admin/plan_measures.h"
#include "planner/admin/planner_instruments.h"
#include "planner/admin/served_calls.h"
#include "planner/coordinator/coordinator.h"
#include "planner/threads/cluster_plan_maker.h"
#include "proto/copse/v1/admin.pb.h"
#include "rpc/authorizer.h"

namespace copse::planner {

// How long daemons are waited for, unless the caller says otherwise; and at most.
inline constexpr absl::Duration kStatusTimeout = absl::Seconds(2);
inline constexpr absl::Duration kStatusTimeoutMax = absl::Minutes(1);

// Returns how long daemons are waited for if the caller says `seconds`; 0, or no number: it says nothing.
absl::Duration StatusTimeout(double seconds);

// AdminLists makes the rows of lists, one at a time. Functions are called on the planner's thread, but for those that
// return a RowWork: they read the request's selector on gRPC's threads, and nothing of the request later.
class AdminLists {
 public:
  // Asking one takes some 0.2 ms of the planner's processor time.
  static constexpr size_t kAskedNodesMax = 256;
  // A list of plans asks fewer of them what calls took.
  static constexpr size_t kMeasuredNodesMax = 64;

  // With `private_data`, others' jobs and names are shown to operators and administrators alone.
  AdminLists(coordinator::Coordinator* coordinator, ClusterPlanMaker* plan_maker, const PlanMeasures* measures,
             const PlannerInstruments* instruments, bool private_data)
      : coordinator_(coordinator),
        plan_maker_(plan_maker),
        measures_(measures),
        instruments_(instruments),
        has_private_data_(private_data) {}

  RowWork<v1::ListNodesReply> NodeRows(const v1::ListNodesRequest& request, const rpc::Principal& who);
  RowWork<v1::ListTeamsReply> TeamRows(const v1::ListTeamsRequest& request, const rpc::Principal& who);
  RowWork<v1::ListTeamsReply> EndedTeamRows(const v1::ListTeamsRequest& request, const rpc::Principal& who);
  RowWork<v1::ListPlansReply> PlanRows(const v1::ListPlansRequest& request);
  RowWork<v1::ListCollectivesReply> CollectiveRows(const v1::ListCollectivesRequest& request);
  RowWork<v1::GetStatsReply> StatsRows(const v1::GetStatsRequest& request, const rpc::Principal& who);

  // Fill a row as the caller may see it.
  void FillTeamFor(const rpc::Principal& who, const coordinator::TeamInfo& info, std::optional<uint32_t> calls,
                   v1::TeamRow* row) const;
  void FillNodeFor(const rpc::Principal& who, const coordinator::NodeInfo& info, v1::NodeRow* row) const;

  // A CallCounts has the number of calls in flight by team; those of derived teams count for their parents, too.
  using CallCounts = std::map<TeamId, uint32_t>;
  // Asks the nodes' daemons for it, unless they are more than kAskedNodesMax: an administrator's question must not keep
  // the planner busy. Passes on none then.
  void CountCalls(const std::vector<std::string>& nodes, std::function<void(std::optional<CallCounts>)> done);
  static std::optional<uint32_t> CallsOf(const std::optional<CallCounts>& counts, TeamId team);

 private:
  // Adds what calls of the plan took, and the prediction of a call of that size, if that is wanted in addition.
  void FillMeasured(const coordinator::PlanInfo& info, const MeasuredCalls& calls, bool is_priced,
                    v1::PlanRow* row) const;
  void FillAccountFor(const rpc::Principal& who, const schedule::AccountStatus& account, v1::AccountRow* row) const;
  using Selects = std::function<bool(const coordinator::TeamInfo&)>;
  // Returns the nodes of all teams that are selected, or more than `max` of them.
  std::set<std::string> NodesOf(const Selects& selects, size_t max = SIZE_MAX) const;
  // Returns some nodes of each team that is selected, kMeasuredNodesMax at most.
  std::set<std::string> SomeNodesOf(const std::function<bool(const schedule::TeamLayout&)>& selects) const;
  bool Hides(const rpc::Principal& who, const schedule::TeamLayout& layout) const;
  // Asks them for their calls in flight, and passes these on with the nodes that are silent.
  void MergeCalls(const std::vector<std::string>& nodes, absl::Duration timeout,
                  std::function<void(std::shared_ptr<coordinator::CallMerge>, std::vector<std::string>)> done);

  coordinator::Coordinator* const coordinator_;
  ClusterPlanMaker* const plan_maker_;
  const PlanMeasures* const measures_;
  const PlannerInstruments* const instruments_;
  const bool has_private_data_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_ADMIN_LISTS_H_
