// SPDX-License-Identifier: Apache-2.0
#include "bench/plan_of.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::bench {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);

}  // namespace

absl::StatusOr<schedule::Plan> PlanOf(const procs::AdminClient& admin, Collective collective, uint64_t bytes) {
  ASSIGN_OR_RETURN(const v1::ListPlansReply plans, admin.ListPlans(kTimeout));
  const std::string name(CollectiveName(collective));
  const v1::PlanRow* newest = nullptr;
  for (const v1::PlanRow& row : plans.plans()) {
    if (row.collective() != name || bytes < row.bytes_min() || bytes > row.bytes_max()) continue;
    if (newest == nullptr || row.team() > newest->team()) newest = &row;
  }
  if (newest == nullptr) return absl::NotFoundError(absl::StrCat("no plan for ", name, " (bytes=", bytes, ")"));
  ASSIGN_OR_RETURN(const v1::ShowPlanReply shown, admin.ShowPlan(newest->id(), kTimeout));
  return schedule::DecodePlan(shown.encoded());
}

}  // namespace copse::bench
