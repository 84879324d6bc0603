// SPDX-License-Identifier: Apache-2.0
//
// Asks daemons what calls took, and shows it beside what was predicted of plans.
#ifndef COPSE_PLANNER_ADMIN_PLAN_MEASURES_H_
#define COPSE_PLANNER_ADMIN_PLAN_MEASURES_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "planner/admin/measured_calls.h"
#include "planner/admin/topology_history.h"
#include "planner/coordinator/coordinator.h"
#include "planner/threads/cluster_plan_maker.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::planner {

// Thread-compatible: only the planner's thread calls it.
class PlanMeasures {
 public:
  // This many nodes of a team are asked, from the first to the last. Asking one takes some 0.2 ms of the planner's
  // processor time.
  static constexpr size_t kAskedOfTeamMax = 16;

  // All outlive this object.
  PlanMeasures(coordinator::Coordinator* coordinator, ClusterPlanMaker* plan_maker, const TopologyHistory* topologies)
      : coordinator_(coordinator), plan_maker_(plan_maker), topologies_(topologies) {}

  // Adds the nodes to ask of the team.
  static void AddNodes(const schedule::TeamLayout& layout, std::set<std::string>* nodes);
  // Asks the nodes, none if there are none, also for the calls by each plan of the teams, in messages of their own
  // beyond the first one. `done` is called once, maybe before this returns.
  using Done = std::function<void(std::shared_ptr<const MeasuredCalls>)>;
  void Ask(const std::set<std::string>& nodes, std::vector<TeamId> teams, Done done) const;

  // Returns whether calls of the team's plans are priced so fast that the planner's thread may do it for a list.
  static bool IsPricedAtOnce(const schedule::TeamLayout& layout);
  // Adds what was measured to the row of the plan, which has a prediction.
  void Fill(const MeasuredCalls& calls, const MeasuredCall& call, v1::PlanRow* row) const;

 private:
  bool TellsPlanCalls(const std::string& node) const;
  Surroundings SurroundingsOf(const MeasuredCalls& calls, const MeasuredCall& call) const;

  coordinator::Coordinator* const coordinator_;
  ClusterPlanMaker* const plan_maker_;
  const TopologyHistory* const topologies_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_PLAN_MEASURES_H_
