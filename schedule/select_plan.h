// SPDX-License-Identifier: Apache-2.0
//
// Selects the plan of a team that a call runs by. Daemons, cost model and simulations must agree on it.
#ifndef COPSE_SCHEDULE_SELECT_PLAN_H_
#define COPSE_SCHEDULE_SELECT_PLAN_H_

#include <cstdint>

#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "schedule/plan.h"

namespace copse::schedule {

// Returns the bytes that select the size class of a call of `ranks` ranks: 0 for a barrier; kCallBytesMax for ordered
// reductions, and, as if blocks were long, for blocks of different lengths whose sum the arguments do not have; the
// mean length for such blocks if they have it (CountsAllBlocks); otherwise arguments.bytes().
uint64_t PlanBytesOf(const CallArguments& arguments, uint64_t ranks);

// Returns the plan of the call's size class, or null if the plans are of another collective class. Messages beyond all
// size classes (large teams have none for them) run by the plan of the longest.
const Plan* PlanFor(absl::Span<const Plan> plans, const CallArguments& arguments, uint64_t ranks);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_SELECT_PLAN_H_
