// SPDX-License-Identifier: Apache-2.0
//
// Converts what the planner counts of itself to the admin service's messages.
#ifndef COPSE_PLANNER_ADMIN_PLANNER_ROWS_H_
#define COPSE_PLANNER_ADMIN_PLANNER_ROWS_H_

#include "planner/admin/planner_instruments.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::planner {

void FillPlannerStatus(const PlannerState& state, v1::GetPlannerStatusReply* reply);
void FillPlannerStats(const PlannerInstruments& instruments, v1::GetPlannerStatsReply* reply);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_PLANNER_ROWS_H_
