// SPDX-License-Identifier: Apache-2.0
//
// A lower bound for every plan of a call.
#ifndef COPSE_PLANNER_PRICING_CALL_BOUND_H_
#define COPSE_PLANNER_PRICING_CALL_BOUND_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/team_costs.h"
#include "schedule/plan.h"

namespace copse::planner {

// Returns a time, in ns, below which the cost model (cost_model.h) prices no plan for the call, when all ranks post at
// 0:
//
// - a rank posts, a daemon wakes and takes the post, and a rank takes up its result;
// - between them, the greater of two: the data from the root (a reduce: to the root; without a root: between the nodes
//   that are farthest apart) travels no faster than LowerBoundNs (algorithms/lower_bound.h) for empty messages;
//   and all bytes must pass the slowest link to each node, and the work for them, regardless of segmentation.
//
// It leaves out costs that depend on chance: wakes of daemons that may be busy already, and waiting for cores.
//
// Errors: INVALID_ARGUMENT from MessageCosts (message_costs.h).        Cost: O(n log n + n * depth).
absl::StatusOr<int64_t> CallLowerBoundNs(const TeamCosts& costs, const schedule::TeamShape& shape,
                                         const CallArguments& arguments);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_CALL_BOUND_H_
