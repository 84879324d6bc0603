// SPDX-License-Identifier: Apache-2.0
//
// Indexes plans by id, and verifies plans that daemons report.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "planner/coordinator/coordinator.h"
#include "schedule/plan.h"
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

void Coordinator::IndexPlans(TeamId id, Team& team) {
  ForgetPlans(team);
  for (const PlanInfo& plan : PlansOf(team)) {
    if (teams_of_plans_.emplace(plan.plan.id, id).second) team.plan_ids.push_back(plan.plan.id);
  }
}

void Coordinator::ForgetPlans(Team& team) {
  for (const PlanId plan : std::exchange(team.plan_ids, {})) teams_of_plans_.erase(plan);
}

void Coordinator::VerifyLater(TeamId id) {
  Team& team = teams_.at(id);
  ForgetPlans(team);
  team.verified = 0;
  if (!std::exchange(team.is_verified, false)) return;  // a timer for VerifyNext is set
  timers_.Set(clock_->Now() + kVerifyNext, [this, id] { VerifyNext(id); });
}

void Coordinator::VerifyNext(TeamId id) {
  Team* team = TeamOf(id);
  if (team == nullptr || team->is_verified) return;
  TeamRecord& record = team->record;
  if (team->verified < record.plans.size()) {
    const absl::Status fit = CheckPlan(record.plans[team->verified], record.layout.shape);
    if (fit.ok()) {
      ++team->verified;
      timers_.Set(clock_->Now() + kVerifyNext, [this, id] { VerifyNext(id); });
      return;
    }
    // The team continues, since each daemon has verified the plans that it runs. The planner forgets all of the team's
    // plans, so it does not display them.
    COPSE_LOG(kWarning, "team ", id.value(), ": a plan that a daemon brought back is none: ", fit.message());
    record.plans.clear();
  }
  team->is_verified = true;
  IndexPlans(id, *team);
}

std::vector<PlanInfo> Coordinator::PlansOf(const Team& team) const {
  std::vector<PlanInfo> out;
  if (!team.is_verified) return out;
  for (const std::string& encoded : team.record.plans) {
    absl::StatusOr<schedule::Plan> plan = schedule::DecodePlan(encoded);
    if (plan.ok()) out.push_back({team.record.layout, team.record.epoch, *std::move(plan)});
  }
  return out;
}

std::vector<PlanInfo> Coordinator::Plans() const {
  std::vector<PlanInfo> out;
  for (const auto& [id, team] : teams_) {
    for (PlanInfo& plan : PlansOf(team)) out.push_back(std::move(plan));
  }
  std::stable_sort(out.begin(), out.end(), [](const PlanInfo& a, const PlanInfo& b) { return a.plan.id < b.plan.id; });
  return out;
}

std::vector<schedule::Plan> Coordinator::PlansOfTeam(TeamId id) const {
  std::vector<schedule::Plan> plans;
  const auto team = teams_.find(id);
  if (team == teams_.end()) return plans;
  for (PlanInfo& info : PlansOf(team->second)) plans.push_back(std::move(info.plan));
  std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return plans;
}

std::optional<PlanInfo> Coordinator::PlanAfter(PlanId last,
                                               const std::function<bool(const schedule::TeamLayout&)>& wanted) const {
  for (auto it = teams_of_plans_.upper_bound(last); it != teams_of_plans_.end(); ++it) {
    if (!wanted(teams_.at(it->second).record.layout)) continue;
    if (absl::StatusOr<PlanInfo> info = FindPlan(it->first); info.ok()) return *std::move(info);
  }
  return std::nullopt;
}

absl::StatusOr<PlanInfo> Coordinator::FindPlan(PlanId id) const {
  if (const auto it = teams_of_plans_.find(id); it != teams_of_plans_.end()) {
    const TeamRecord& record = teams_.at(it->second).record;
    for (const std::string& encoded : record.plans) {
      if (encoded.size() < schedule::kEncodedIdEnd || schedule::PlanIdIn(encoded) != id) continue;
      absl::StatusOr<schedule::Plan> plan = schedule::DecodePlan(encoded);
      if (plan.ok()) return PlanInfo{record.layout, record.epoch, *std::move(plan)};
    }
  }
  return absl::NotFoundError(absl::StrCat("plan ", id.value(), ": not known"));
}

absl::StatusOr<PlanExplanation> Coordinator::Explain(PlanId id) const {
  ASSIGN_OR_RETURN(const PlanInfo info, FindPlan(id));
  ASSIGN_OR_RETURN(PlanExplanation explanation, plan_maker_->Explain(info.layout, info.plan));
  absl::StrAppend(&explanation.text, DescribeQuick(teams_.at(teams_of_plans_.at(id))));
  return explanation;
}

absl::StatusOr<std::vector<std::string>> Coordinator::CriticalPath(PlanId id) const {
  ASSIGN_OR_RETURN(const PlanInfo info, FindPlan(id));
  return plan_maker_->CriticalPath(info.layout, info.plan);
}

}  // namespace copse::coordinator
