// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/center.h"

#include <algorithm>

namespace copse::planner {

uint32_t FarthestFrom(const BroadcastCosts& costs, uint32_t from) {
  uint32_t found = from;
  int64_t most = -1;
  for (uint32_t v = 0; v < costs.node_count(); ++v) {
    if (v == from || costs.Cost(from, v) <= most) continue;
    most = costs.Cost(from, v);
    found = v;
  }
  return found;
}

uint32_t CenterOf(const BroadcastCosts& costs, uint32_t preferred) {
  const uint32_t a = FarthestFrom(costs, preferred), b = FarthestFrom(costs, a);
  const auto reach = [&](uint32_t v) { return std::max(v == a ? 0 : costs.Cost(v, a), v == b ? 0 : costs.Cost(v, b)); };
  uint32_t center = preferred;
  int64_t least = reach(preferred);
  for (uint32_t v = 0; v < costs.node_count(); ++v) {
    const int64_t its = reach(v);
    if (its >= least) continue;
    least = its;
    center = v;
  }
  return center;
}

}  // namespace copse::planner
