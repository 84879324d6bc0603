// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/team_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "protocol/log_subject.h"
#include "schedule/verify.h"

namespace copse::coordinator {
namespace {

// Other work runs in this pause between two verified plans.
constexpr absl::Duration kVerifyNext = absl::Milliseconds(1);

// Applies schedule::VerifyPlan to an encoded plan, and checks that the algorithm's name is printable.
absl::Status CheckPlan(const std::string& encoded, const schedule::TeamShape& shape) {
  ASSIGN_OR_RETURN(const schedule::Plan plan, schedule::DecodePlan(encoded));
  if (!std::all_of(plan.algorithm.begin(), plan.algorithm.end(), absl::ascii_isgraph)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan ", plan.id.value(), ": algorithm: not printable (algorithm=", absl::CEscape(plan.algorithm), ")"));
  }
  return schedule::VerifyPlan(plan, shape);
}

}  // namespace

Team* TeamTable::Find(TeamId id) {
  const auto it = teams_.find(id);
  return it == teams_.end() ? nullptr : &it->second;
}

const Team* TeamTable::Find(TeamId id) const {
  const auto it = teams_.find(id);
  return it == teams_.end() ? nullptr : &it->second;
}

void TeamTable::IndexPlans(Team& team) {
  ForgetPlans(team);
  const auto index = [this, &team](PlanId plan, size_t place) {
    if (of_plans_.emplace(plan, PlanPlace{&team, place}).second) team.plan_ids.push_back(plan);
  };
  const std::vector<std::string>& plans = team.record.plans;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].size() >= schedule::kEncodedIdEnd) index(schedule::PlanIdIn(plans[i]), i);
  }
  if (!plans.empty()) return;
  for (const PlanId plan : team.record.plan_ids) index(plan, 0);
}

void TeamTable::ForgetPlans(Team& team) {
  ++changes_;
  for (const PlanId plan : std::exchange(team.plan_ids, {})) of_plans_.erase(plan);
}

const std::pair<const PlanId, PlanPlace>* TeamTable::NextPlan(PlanCursor* cursor) const {
  if (std::exchange(cursor->changes, changes_) != changes_) cursor->next = of_plans_.upper_bound(cursor->last);
  if (cursor->next == of_plans_.end()) return nullptr;
  cursor->last = cursor->next->first;
  return &*cursor->next++;
}

void TeamTable::VerifyLater(TeamId id) {
  Team& team = At(id);
  ForgetPlans(team);
  team.verified = 0;
  if (!std::exchange(team.is_verified, false)) return;  // a timer for VerifyNext is set
  timers_->Set(clock_->Now() + kVerifyNext, [this, id] { VerifyNext(id); });
}

void TeamTable::VerifyNext(TeamId id) {
  Team* team = Find(id);
  if (team == nullptr || team->is_verified) return;
  TeamRecord& record = team->record;
  if (team->verified < record.plans.size()) {
    const absl::Status fit = CheckPlan(record.plans[team->verified], record.layout.shape);
    if (fit.ok()) {
      ++team->verified;
      timers_->Set(clock_->Now() + kVerifyNext, [this, id] { VerifyNext(id); });
      return;
    }
    // The team continues, since each daemon has verified the plans that it runs. The planner forgets all of the team's
    // plans, so it does not display them.
    COPSE_LOG_ABOUT(kWarning, schedule::AboutTeam(record.layout), "team ", id.value(),
                    ": a plan that a daemon brought back is none: ", fit.message());
    record.plans.clear();
  }
  team->is_verified = true;
  IndexPlans(*team);
}

}  // namespace copse::coordinator
