// SPDX-License-Identifier: Apache-2.0
//
// Makes the plans of teams that are connected alike.
#ifndef COPSE_PLANNER_THREADS_PLAN_TASK_H_
#define COPSE_PLANNER_THREADS_PLAN_TASK_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/coordinator/interfaces/plan_maker.h"
#include "planner/planner.h"
#include "planner/rules.h"
#include "planner/topology/topology.h"
#include "schedule/plan.h"

namespace copse::planner {

// A PlanTask is all on which a team's plans depend. Teams whose members are connected alike have equal tasks.
struct PlanTask {
  schedule::TeamShape shape;
  Family family = Family::kCommon;
  coordinator::PlanOptions options;
  topology::Topology topology;              // the team's (topology/team_topology.h), in which draining nodes weigh more
  std::optional<topology::Topology> plain;  // the same without these weights; nullopt: no node is draining
  friend bool operator==(const PlanTask&, const PlanTask&) = default;
};

// Shared by the planner's thread and those that make the plans: a copy of a large team's task takes milliseconds.
using SharedTask = std::shared_ptr<const PlanTask>;

// Makes the plans of a task by these rules. It depends on nothing else, so any thread may call it. Errors: those of
// Planner::MakePlans, and of CheckAlgorithm for the options.
absl::StatusOr<std::vector<schedule::Plan>> MakePlansOf(const PlanTask& task, const Rules& rules);

// Makes quick plans of a task (Planner::MakeQuickPlans). Thread-safe, too.
absl::StatusOr<std::vector<schedule::Plan>> QuickPlansOf(const PlanTask& task, const Rules& rules);

// Returns what a typical call of each of the quick plans saves by `better`, in us. Both are plans of the task by the
// same rules, so they have the same size classes. Thread-safe, too. Errors: those of PredictedNs.
absl::StatusOr<std::vector<double>> SavingsOver(const std::vector<schedule::Plan>& quick,
                                                const std::vector<schedule::Plan>& better, const PlanTask& task);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_THREADS_PLAN_TASK_H_
