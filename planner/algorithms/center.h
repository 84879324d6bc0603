// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_CENTER_H_
#define COPSE_PLANNER_ALGORITHMS_CENTER_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"

namespace copse::planner {

// Returns the node to which a message from `from` costs most, the least of equal ones; `from` if there is no other
// node.
uint32_t FarthestFrom(const BroadcastCosts& costs, uint32_t from);

// Returns a center: a node from which the costliest message costs least. It is approximate, since only two nodes that
// are far from each other are tried as destinations; in a tree without overheads one of these is the farthest from any
// node. Ties: `preferred`, then the least node. Cost: O(n) queries of the costs.
uint32_t CenterOf(const BroadcastCosts& costs, uint32_t preferred);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_CENTER_H_
