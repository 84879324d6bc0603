// SPDX-License-Identifier: Apache-2.0
//
// What no plan can beat, however it is made.
#ifndef COPSE_PLANNER_PRICING_CALL_BOUND_H_
#define COPSE_PLANNER_PRICING_CALL_BOUND_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/team_costs.h"
#include "schedule/plan.h"

namespace copse::planner {

// A time below which the cost model (cost_model.h) prices no plan for the call, in ns, when all ranks post at 0:
//
// - somebody posts, a daemon gets going and takes the post, and a rank takes up its result;
// - between them, the greater of two: what the root tells (a reduce: what it is told; without a root: what the nodes
//   that are farthest apart tell) spreads no faster than LowerBoundNs (algorithms/lower_bound.h) for empty messages;
//   and all bytes must pass the slowest link to each node, and the work for them, however they are cut.
//
// It leaves out what depends on chance: wakes of daemons that may be busy anyway, and waiting for cores.
//
// Errors: INVALID_ARGUMENT as MessageCosts (message_costs.h).          Cost: O(n log n + n * depth).
absl::StatusOr<int64_t> CallLowerBoundNs(const TeamCosts& costs, const schedule::TeamShape& shape,
                                         const CallArguments& arguments);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_CALL_BOUND_H_
