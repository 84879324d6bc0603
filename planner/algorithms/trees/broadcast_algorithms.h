// SPDX-License-Identifier: Apache-2.0
//
// The algorithms that decide by cost, and the trees by number for comparison, by name.
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_BROADCAST_ALGORITHMS_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_BROADCAST_ALGORITHMS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

// Builds a tree by the algorithm's name: "FT", "BT", "knomial-K", "kary-K", "FNF", "FEF_latency", "FEF_cost", "FCEF",
// "FCEF_bhat", "LA", "LA_bhat", "MGO", "MGO_jackson", "OPTIMAL", "best"; letters of either case, "-" for "_". Trees by
// number take the nodes in order root, root + 1, ... modulo n; their edges are breadth first.
//
// Errors:  INVALID_ARGUMENT for another name, a K out of range, or from the algorithm.
absl::StatusOr<BroadcastTree> BuildBroadcast(std::string_view algorithm, const BroadcastCosts& costs, uint32_t root);

// Returns all names, with these K.
std::vector<std::string> BroadcastAlgorithms(const std::vector<uint32_t>& fanouts);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_BROADCAST_ALGORITHMS_H_
