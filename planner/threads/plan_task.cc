// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/plan_task.h"

#include <string>

#include "base/status_macros.h"
#include "collectives/collective.h"
#include "planner/candidates.h"
#include "planner/pricing/team_costs.h"
#include "planner/size_class.h"
#include "planner/structure.h"
#include "planner/topology/team_topology.h"

namespace copse::planner {

absl::StatusOr<std::vector<schedule::Plan>> MakePlansOf(const PlanTask& task, const Rules& rules) {
  PlannerOptions planner_options;
  planner_options.rules = rules;
  if (!task.options.algorithm.empty()) {
    for (const Collective collective : CollectivesOf(task.family)) {
      if (task.options.collective && *task.options.collective != collective) continue;
      // An algorithm requested for all collectives is used for those that it can carry; all algorithms carry barriers.
      const absl::Status carries = CheckAlgorithm(task.options.algorithm, collective);
      if (!carries.ok() && !task.options.collective && collective != Collective::kBarrier) continue;
      RETURN_IF_ERROR(carries);
      planner_options.forced[collective] = task.options.algorithm;
    }
  }
  const std::vector<std::string> names = topology::TeamTopologyNames(task.topology.nodes().size());
  ASSIGN_OR_RETURN(
      std::vector<schedule::Plan> plans,
      Planner(&task.topology, task.topology.costs(), planner_options).MakePlans(task.shape, names, task.family));
  if (!task.plain.has_value()) return plans;
  // Plans were chosen with weighted costs, but their predicted times are without the weights.
  ASSIGN_OR_RETURN(const TeamCosts costs, TeamCosts::Create(names, *task.plain, task.plain->costs()));
  for (schedule::Plan& plan : plans) {
    ASSIGN_OR_RETURN(const int64_t total_ns, PredictedNs(plan, task.shape, costs, TypicalCall(plan)));
    plan.predicted_us = static_cast<double>(total_ns) / 1000;
  }
  return plans;
}

absl::StatusOr<std::vector<schedule::Plan>> QuickPlansOf(const PlanTask& task, const Rules& rules) {
  PlannerOptions planner_options;
  planner_options.rules = rules;
  const std::vector<std::string> names = topology::TeamTopologyNames(task.topology.nodes().size());
  return Planner(&task.topology, task.topology.costs(), planner_options).MakeQuickPlans(task.shape, names, task.family);
}

absl::StatusOr<std::vector<double>> SavingsOver(const std::vector<schedule::Plan>& quick,
                                                const std::vector<schedule::Plan>& better, const PlanTask& task) {
  const topology::Topology& topology = task.plain.has_value() ? *task.plain : task.topology;
  const std::vector<std::string> names = topology::TeamTopologyNames(topology.nodes().size());
  ASSIGN_OR_RETURN(const TeamCosts costs, TeamCosts::Create(names, topology, topology.costs()));
  std::vector<double> savings_us;
  for (size_t i = 0; i < quick.size(); ++i) {
    double& saving_us = savings_us.emplace_back(0);
    if (i >= better.size() || better[i].collective != quick[i].collective) continue;
    ASSIGN_OR_RETURN(const int64_t total_ns, PredictedNs(quick[i], task.shape, costs, TypicalCall(quick[i])));
    saving_us = static_cast<double>(total_ns) / 1000 - better[i].predicted_us;
  }
  return savings_us;
}

}  // namespace copse::planner
