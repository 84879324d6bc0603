// SPDX-License-Identifier: Apache-2.0
//
// Computes a lower bound for the price of every plan of a call.
#ifndef COPSE_PLANNER_PRICING_CALL_BOUND_H_
#define COPSE_PLANNER_PRICING_CALL_BOUND_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/team_costs.h"
#include "schedule/plan.h"

namespace copse::planner {

// Returns a time, in ns, below which the cost model (cost_model.h) prices no plan for a call of a common collective in
// which all ranks post at 0. It is the sum of:
//
// - the ends: a rank posts, a daemon wakes and takes the post, and a rank takes up its result;
// - the greater of two: LowerBoundNs (algorithms/lower_bound.h) of an empty message from the root (for a reduce to the
//   root, without a root between nodes that are far apart); and for each node an empty message and the time in which
//   all bytes pass the slowest link to it, or the daemon's work for them if that takes longer, however they are cut.
//
// It leaves out costs that not every plan has: wakes of daemons that may be busy already, and waits for cores.
//
// Errors: INVALID_ARGUMENT from EmptyMessageCosts.        Cost: O(n log n + n * depth).
absl::StatusOr<int64_t> CallLowerBoundNs(const TeamCosts& costs, const schedule::TeamShape& shape,
                                         const CallArguments& arguments);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_CALL_BOUND_H_
