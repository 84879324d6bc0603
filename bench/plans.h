// SPDX-License-Identifier: Apache-2.0
//
// Fetches from the planner the plans that serve given calls.
#ifndef COPSE_BENCH_PLANS_H_
#define COPSE_BENCH_PLANS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/collective.h"
#include "proto/copse/v1/admin.pb.h"
#include "schedule/plan.h"
#include "testbed/processes/admin_client.h"

namespace copse::bench {

// Returns the plan that serves calls of `bytes` bytes in the newest team that has one. Calls longer than any plan
// allows are served by the plan for the longest calls, and irregular collectives by the plans of their regular form.
// Errors: NOT_FOUND if there is none; those of the planner.
absl::StatusOr<v1::PlanRow> FindPlan(const procs::AdminClient& admin, Collective collective, uint64_t bytes);
// Returns FindPlan's plan in decoded form. Errors: those of FindPlan and schedule::DecodePlan.
absl::StatusOr<schedule::Plan> ReadPlan(const procs::AdminClient& admin, Collective collective, uint64_t bytes);

}  // namespace copse::bench

#endif  // COPSE_BENCH_PLANS_H_
