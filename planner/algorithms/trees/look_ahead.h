// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_LOOK_AHEAD_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_LOOK_AHEAD_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/algorithms/trees/earliest_completion_first.h"

namespace copse::planner {

// Builds LA: FCEF (earliest_completion_first.h), but an edge's score also has the cost of its receiver's cheapest send.
//
// Input:   root < n.
// Output:  edges in the order of choice: the least ready_i + C_ij + A_j, where A_j is the least C_jk over other nodes k
//          without the message, or 0 if there is none.
// Ties:    (score, sender, receiver).
// Cost:    O(n^2) queries of the costs if each step invalidates few of the stored minima; O(n^3) at worst.
// Errors:  none.
// Source:  Bhat, Raghavendra, Prasanna, ICDCS 1999, look-ahead ECEF.
BroadcastTree BuildLookAhead(const BroadcastCosts& costs, uint32_t root, Accounting accounting);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_LOOK_AHEAD_H_
