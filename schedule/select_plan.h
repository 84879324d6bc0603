// SPDX-License-Identifier: Apache-2.0
//
// Which of a team's plans a call runs by. Daemons, prices and simulations must agree on it.
#ifndef COPSE_SCHEDULE_SELECT_PLAN_H_
#define COPSE_SCHEDULE_SELECT_PLAN_H_

#include <cstdint>

#include "absl/types/span.h"
#include "collectives/call_arguments.h"
#include "schedule/plan.h"

namespace copse::schedule {

// The size in whose class such a call of `ranks` ranks is, in bytes: of its message; of one block:
// the mean one, and where not all ranks know that, kCallBytesMax, as if blocks were long.
uint64_t PlanBytesOf(const CallArguments& arguments, uint64_t ranks);

// Null if the plans are of another family. Messages beyond all classes (large teams have none for them) run by the
// plan of the longest.
const Plan* PlanFor(absl::Span<const Plan> plans, const CallArguments& arguments, uint64_t ranks);

}  // namespace copse::schedule

#endif  // COPSE_SCHEDULE_SELECT_PLAN_H_
