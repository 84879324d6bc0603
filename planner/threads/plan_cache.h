// SPDX-License-Identifier: Apache-2.0
//
// Keeps the plans of teams, for others that are connected alike.
#ifndef COPSE_PLANNER_THREADS_PLAN_CACHE_H_
#define COPSE_PLANNER_THREADS_PLAN_CACHE_H_

#include <cstddef>
#include <list>
#include <vector>

#include "planner/threads/plan_task.h"
#include "schedule/plan.h"

namespace copse::planner {

// These limit the cached plan sets, and the sum of neighbors (and steps) in all of them.
inline constexpr size_t kKeptPlanSetsMax = 64;
inline constexpr size_t kKeptNeighborsMax = size_t{1} << 22;

// A PlanCache holds the plan sets that were made or found last. Thread-compatible.
class PlanCache {
 public:
  // Returns the task's plans, or null. They are valid until the next Keep or Clear.
  const std::vector<schedule::Plan>* Find(const PlanTask& task);
  // Keeps the plans, which are not here, unless they alone are beyond the limit.
  void Keep(SharedTask task, std::vector<schedule::Plan> plans);
  void Clear() { kept_.clear(); }

 private:
  struct Kept {
    SharedTask task;
    std::vector<schedule::Plan> plans;
    size_t neighbors = 0;
  };

  std::list<Kept> kept_;  // most recently used first
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_THREADS_PLAN_CACHE_H_
