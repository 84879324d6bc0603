// SPDX-License-Identifier: Apache-2.0
//
// The very plan that calls run, from the planner.
#ifndef COPSE_BENCH_PLAN_OF_H_
#define COPSE_BENCH_PLAN_OF_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "schedule/plan.h"
#include "testbed/processes/admin_client.h"

namespace copse::bench {

// The plan that serves calls of so many bytes, in the newest team. Errors: NOT_FOUND if there is none; those of the
// planner, and of schedule::DecodePlan.
absl::StatusOr<schedule::Plan> PlanOf(const procs::AdminClient& admin, Collective collective, uint64_t bytes);

}  // namespace copse::bench

#endif  // COPSE_BENCH_PLAN_OF_H_
