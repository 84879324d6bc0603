// SPDX-License-Identifier: Apache-2.0
//
// The rows of the planner's lists, but for those that daemons have a part in (status_lists.h).
#ifndef COPSE_PLANNER_ADMIN_ADMIN_LISTS_H_
#define COPSE_PLANNER_ADMIN_ADMIN_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "planner/admin/plan_measures.h"
#include "planner/admin/planner_instruments.h"
#include "planner/admin/served_calls.h"
#include "planner/admin/status_lists.h"
#include "planner/coordinator/coordinator.h"
#include "planner/threads/cluster_plan_maker.h"
#include "proto/copse/v1/admin.pb.h"
#include "rpc/authorizer.h"

namespace copse::planner {

// AdminLists makes the rows of lists, one at a time. Functions are called on the planner's thread, but for those that
// return a RowWork: they read the request's selector on gRPC's threads, and nothing of the request later.
class AdminLists {
 public:
  // A list of plans asks so many daemons what calls took, at most.
  static constexpr size_t kMeasuredNodesMax = 64;

  // With `private_data`, others' jobs and names are shown to operators and administrators alone.
  AdminLists(coordinator::Coordinator* coordinator, StatusLists* statuses, ClusterPlanMaker* plan_maker,
             const PlanMeasures* measures, const PlannerInstruments* instruments, bool private_data)
      : coordinator_(coordinator),
        statuses_(statuses),
        plan_maker_(plan_maker),
        measures_(measures),
        instruments_(instruments),
        has_private_data_(private_data) {}

  RowWork<v1::ListNodesReply> NodeRows(const v1::ListNodesRequest& request, const rpc::Principal& who);
  RowWork<v1::ListTeamsReply> TeamRows(const v1::ListTeamsRequest& request, const rpc::Principal& who);
  RowWork<v1::ListTeamsReply> EndedTeamRows(const v1::ListTeamsRequest& request, const rpc::Principal& who);
  RowWork<v1::ListPlansReply> PlanRows(const v1::ListPlansRequest& request);

  // Fill a row as the caller may see it.
  void FillTeamFor(const rpc::Principal& who, const coordinator::TeamInfo& info, std::optional<uint32_t> calls,
                   v1::TeamRow* row) const;
  void FillNodeFor(const rpc::Principal& who, const coordinator::NodeInfo& info, v1::NodeRow* row) const;

 private:
  struct PlanListing;
  size_t AddPlanRow(PlanListing* listing, v1::ListPlansReply* reply) const;  // as a RowSource
  // Adds what calls of the plan took, and the prediction of a call of that size, if that is wanted in addition.
  void FillMeasured(const coordinator::ListedPlan& listed, const schedule::Plan& plan, const MeasuredCalls& calls,
                    bool is_priced, v1::PlanRow* row) const;
  // Returns some nodes of each team that is selected, kMeasuredNodesMax at most. Adds these teams to `*teams` if that
  // is not null.
  std::set<std::string> SomeNodesOf(const std::function<bool(const schedule::TeamLayout&)>& selects,
                                    std::vector<TeamId>* teams) const;
  bool Hides(const rpc::Principal& who, const schedule::TeamLayout& layout) const;

  coordinator::Coordinator* const coordinator_;
  StatusLists* const statuses_;
  ClusterPlanMaker* const plan_maker_;
  const PlanMeasures* const measures_;
  const PlannerInstruments* const instruments_;
  const bool has_private_data_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_ADMIN_LISTS_H_
