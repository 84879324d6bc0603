// SPDX-License-Identifier: Apache-2.0
//
// Builds broadcast trees by an algorithm's name: algorithms that decide by cost and, for comparison, trees by number.
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
// "FCEF_bhat", "LA", "LA_bhat", "MGO", "MGO_jackson", "OPTIMAL", "best". Case does not matter, nor does "-" for "_".
// The first four are trees by number: they take the nodes in the order root, root + 1, ... modulo n.
//
// Errors:  INVALID_ARGUMENT for another name, a K out of range, root >= n, or from the algorithm.
absl::StatusOr<BroadcastTree> BuildBroadcast(std::string_view algorithm, const BroadcastCosts& costs, uint32_t root);

// Returns the names of all algorithms, with each of `fanouts` as K.
std::vector<std::string> BroadcastAlgorithms(const std::vector<uint32_t>& fanouts);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_BROADCAST_ALGORITHMS_H_
