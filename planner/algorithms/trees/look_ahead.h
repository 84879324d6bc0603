// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_LOOK_AHEAD_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_LOOK_AHEAD_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/algorithms/trees/earliest_completion_first.h"

namespace copse::planner {

// Builds LA: FCEF with an edge's score extended by the best next send of its receiver.
//
// Input:   root < n.
// Output:  edges in the order of choice: the least ready_i + C_ij + min over other nodes k without the message of
//          C_jk; 0 in that place if there are none.
// Ties:    (score, sender, receiver).
// Cost:    O(n^2) queries of the costs, as long as few of the remembered minima are lost at each step; O(n^3) at worst.
// Errors:  none.
// Source:  Bhat, Raghavendra, Prasanna, ICDCS 1999, look-ahead ECEF.
BroadcastTree BuildLookAhead(const BroadcastCosts& costs, uint32_t root, Accounting accounting);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_LOOK_AHEAD_H_
