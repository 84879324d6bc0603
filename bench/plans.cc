// SPDX-License-Identifier: Apache-2.0
#include "bench/plans.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace copse::bench {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);

}  // namespace

absl::StatusOr<v1::PlanRow> FindPlan(const procs::AdminClient& admin, Collective collective, uint64_t bytes) {
  ASSIGN_OR_RETURN(const v1::ListPlansReply plans, admin.ListPlans(kTimeout));
  const std::string name(CollectiveName(PlanCollective(collective)));
  const v1::PlanRow* found = nullptr;
  for (const v1::PlanRow& row : plans.plans()) {
    if (row.collective() != name || bytes < row.bytes_min()) continue;
    if (found == nullptr || std::pair(row.team(), row.bytes_min()) > std::pair(found->team(), found->bytes_min())) {
      found = &row;
    }
  }
  if (found == nullptr) return absl::NotFoundError(absl::StrCat("no plan for ", name, " (bytes=", bytes, ")"));
  return *found;
}

absl::StatusOr<schedule::Plan> ReadPlan(const procs::AdminClient& admin, Collective collective, uint64_t bytes) {
  ASSIGN_OR_RETURN(const v1::PlanRow row, FindPlan(admin, collective, bytes));
  ASSIGN_OR_RETURN(const v1::ShowPlanReply shown, admin.ShowPlan(row.id(), kTimeout));
  return schedule::DecodePlan(shown.encoded());
}

}  // namespace copse::bench
