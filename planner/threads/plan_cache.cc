// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/plan_cache.h"

#include <utility>

namespace copse::planner {

const std::vector<schedule::Plan>* PlanCache::Find(const PlanTask& task) {
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (*it->task != task) continue;
    kept_.splice(kept_.begin(), kept_, it);
    return &it->plans;
  }
  return nullptr;
}

void PlanCache::Keep(SharedTask task, std::vector<schedule::Plan> plans) {
  size_t neighbors = 0;
  for (const schedule::Plan& plan : plans) {
    for (const auto& of : plan.neighbors) neighbors += of.size();
    for (const auto& of : plan.steps) neighbors += of.size();
  }
  if (neighbors > kKeptNeighborsMax) return;
  kept_.push_front({std::move(task), std::move(plans), neighbors});
  size_t sum = 0, count = 0;
  auto it = kept_.begin();
  while (it != kept_.end() && ++count <= kKeptPlanSetsMax && (sum += it->neighbors) <= kKeptNeighborsMax) ++it;
  kept_.erase(it, kept_.end());
}

}  // namespace copse::planner
