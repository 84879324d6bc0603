// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_FASTEST_EDGE_FIRST_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_FASTEST_EDGE_FIRST_H_

#include <cstdint>

#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

enum class EdgeWeight : uint8_t {
  kLatency,  // L_ij
  kCost,     // C_ij = send_i + L_ij + T_ij + receive_j
};

// Builds FEF: repeatedly chooses the lightest edge from a node with the message to one without, whose sender sends as
// soon as it is free. This is Prim's tree, in Prim's order.
//
// Input:   root < n.
// Output:  edges in the order of choice.
// Ties:    (weight, sender, receiver).
// Cost:    O(n^2) queries of the costs.          Errors: none.
// Source:  Bhat, Raghavendra, Prasanna, "Efficient collective communication in distributed heterogeneous systems",
//          ICDCS 1999. Their weight is the whole cost; the MGO paper's FEF takes the latency.
BroadcastTree BuildFastestEdgeFirst(const BroadcastCosts& costs, uint32_t root, EdgeWeight weight);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_FASTEST_EDGE_FIRST_H_
