// SPDX-License-Identifier: Apache-2.0
//
// The very plans that calls run, from the planner.
#ifndef COPSE_BENCH_PLANS_H_
#define COPSE_BENCH_PLANS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "collectives/collective.h"
#include "proto/copse/v1/admin.pb.h"
#include "schedule/plan.h"
#include "testbed/processes/admin_client.h"

namespace copse::bench {

// The plan that serves calls of so many bytes, in the newest team that has one: longer calls than all plans are for are
// run by that of the longest, irregular ones by those of their regular form. Errors: NOT_FOUND if there is none; those
// of the planner.
absl::StatusOr<v1::PlanRow> FindPlan(const procs::AdminClient& admin, Collective collective, uint64_t bytes);
// The same plan, decoded. Errors: those of schedule::DecodePlan, too.
absl::StatusOr<schedule::Plan> ReadPlan(const procs::AdminClient& admin, Collective collective, uint64_t bytes);

}  // namespace copse::bench

#endif  // COPSE_BENCH_PLANS_H_
