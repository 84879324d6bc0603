// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_CENTER_H_
#define COPSE_PLANNER_ALGORITHMS_CENTER_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"

namespace copse::planner {

// Returns the node to which a message from `from` costs most, the least of equal ones; `from` itself if it is alone.
uint32_t FarthestFrom(const BroadcastCosts& costs, uint32_t from);

// Returns the node whose farthest node is nearest. On a tree one of the two ends of a longest path is the farthest from
// any node; with overheads this holds approximately. Ties: `preferred`, then the least. Cost: O(n) queries.
uint32_t CenterOf(const BroadcastCosts& costs, uint32_t preferred);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_CENTER_H_
