// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_EARLIEST_COMPLETION_FIRST_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_EARLIEST_COMPLETION_FIRST_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Accounting is the time for which a sender counts as busy while edges are chosen. The completion reported always
// follows section 3.1.
enum class Accounting : uint8_t {
  kSound,  // section 3.1 of the MGO paper: for send_i + T_ij
  kBhat,   // as in Bhat's paper: until the transfer ends, C_ij
};

// Builds FCEF (ECEF): chooses the edge that completes earliest, again and again.
//
// Input:   root < n.
// Output:  edges in the order of choice: the least ready_i + C_ij.
// Ties:    (score, sender, receiver).
// Cost:    O(n^2) queries of the costs, as long as a sender's nearest receiver is seldom taken by another; O(n^3) at
//          worst.          Errors: none.
// Source:  Bhat, Raghavendra, Prasanna, ICDCS 1999.
BroadcastTree BuildEarliestCompletionFirst(const BroadcastCosts& costs, uint32_t root, Accounting accounting);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_EARLIEST_COMPLETION_FIRST_H_
