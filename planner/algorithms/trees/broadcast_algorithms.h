// SPDX-License-Identifier: Apache-2.0
//
// Builds broadcast trees by an algorithm's name: algorithms that decide by cost and, for comparison, trees by number.
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_BROADCAST_ALGORITHMS_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_BROADCAST_ALGORITHMS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Returns an algorithm's name as it is shown everywhere: in lower case with "-", as "fef-cost" for "FEF_cost" of the
// papers.
std::string AlgorithmName(std::string_view text);

// Builds a tree by the algorithm's name: "ft", "bt", "knomial-K", "kary-K", "fnf", "fef-latency", "fef-cost", "fcef",
// "fcef-bhat", "la", "la-bhat", "mgo", "mgo-jackson", "optimal", "best", in any spelling that AlgorithmName takes.
// The first four are trees by number: they take the nodes in the order root, root + 1, ... modulo n.
//
// Errors:  INVALID_ARGUMENT for another name, a K out of range, root >= n, or from the algorithm.
absl::StatusOr<BroadcastTree> BuildBroadcast(std::string_view algorithm, const BroadcastCosts& costs, uint32_t root);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_BROADCAST_ALGORITHMS_H_
