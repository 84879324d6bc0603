// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_EARLIEST_COMPLETION_FIRST_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_EARLIEST_COMPLETION_FIRST_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Accounting is the time for which a sender counts as busy while edges are chosen. The reported completion time always
// follows section 3.1 of the MGO paper.
enum class Accounting : uint8_t {
  kSound,  // send_i + T_ij, by section 3.1 of the MGO paper
  kBhat,   // C_ij, until the transfer ends, by Bhat's paper
};

// Builds FCEF (ECEF): repeatedly chooses the edge that completes earliest, from a node with the message to one without.
//
// Input:   root < n.
// Output:  edges in the order of choice: the least ready_i + C_ij.
// Ties:    (score, sender, receiver).
// Cost:    O(n^2) queries of the costs if another sender seldom takes a sender's nearest receiver; O(n^3) at worst.
// Errors:  none.
// Source:  Bhat, Raghavendra, Prasanna, "Efficient collective communication in distributed heterogeneous systems",
//          ICDCS 1999.
BroadcastTree BuildEarliestCompletionFirst(const BroadcastCosts& costs, uint32_t root, Accounting accounting);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_EARLIEST_COMPLETION_FIRST_H_
