// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/teams/better_plans.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/log.h"
#include "protocol/log_subject.h"
#include "schedule/plan.h"

namespace copse::coordinator {
namespace {

// A member that is asked for its team's calls has this time to answer.
constexpr absl::Duration kCallsTimeout = absl::Seconds(2);

}  // namespace

void BetterPlans::Start(TeamId id) {
  state_->teams.At(id).quick.emplace();
  Seek(id);
}

void BetterPlans::Resume(TeamId id) {
  Team& team = state_->teams.At(id);
  if (!team.durable() || team.record.broken || team.node_count() < 2 || team.record.plans.empty()) return;
  team.quick.emplace().is_doubtful = true;
  LookLater(team);
}

bool BetterPlans::RunsQuickPlans(const Team& team) const {
  if (team.record.plans.empty()) return false;  // a daemon brought others than plans
  const absl::StatusOr<schedule::Plan> plan = schedule::DecodePlan(team.record.plans.front());
  return plan.ok() && state_->plan_maker->IsQuick(*plan);
}

void BetterPlans::Seek(TeamId id) {
  state_->teams.At(id).quick->is_sought = true;
  state_->plan_maker->PlanBetter(
      state_->teams.At(id).record.layout, [this, id](const absl::StatusOr<std::vector<double>>& savings) {
        Team* team = state_->teams.Find(id);
        if (team == nullptr || !team->quick.has_value()) return;
        team->quick->is_sought = false;
        if (!savings.ok()) {
          COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(team->record.layout), "team ", id.value(),
                          ": better plans are not made: ", savings.status().message());
          // There was no room for the order. After other errors, MakePlans would fail again.
          if (absl::IsResourceExhausted(savings.status())) LookLater(*team);
          return;
        }
        team->quick->savings_us = *savings;
        // Sub-teams cannot be switched; later ones of their shape have the better plans at once.
        if (team->quick->any_saves() && team->durable()) LookLater(*team);
      });
}

void BetterPlans::LookLater(Team& team) {
  QuickState& quick = *team.quick;
  quick.is_sought = false;
  state_->timers.Cancel(quick.timer);
  quick.timer = state_->timers.Set(state_->Now() + quick.wait, [this, id = team.id()] { Look(id); });
  quick.wait = std::min(2 * quick.wait, kLastLook);
}

bool BetterPlans::MayBeSwitchedNow(TeamId id) const {
  if (!switches_->Check(id).ok()) return false;
  const std::vector<schedule::TeamNode>& members = state_->teams.Find(id)->record.layout.nodes;
  return std::none_of(members.begin(), members.end(), [this](const schedule::TeamNode& member) {
    return state_->drains.Has(member.name) || state_->nodes.At(member.name).stopping;
  });
}

void BetterPlans::Look(TeamId id) {
  Team* team = state_->teams.Find(id);
  if (team == nullptr || !team->quick.has_value()) return;
  // A planner with thousands of teams decodes the plans of one in a turn.
  if (std::exchange(team->quick->is_doubtful, false) && !RunsQuickPlans(*team)) return state_->SettleForPlans(*team);
  if (team->quick->savings_us.empty()) return Seek(id);
  if (!MayBeSwitchedNow(id)) return LookLater(*team);
  const std::vector<schedule::TeamNode>& members = team->record.layout.nodes;
  const auto member = std::find_if(members.begin(), members.end(), [this](const schedule::TeamNode& m) {
    return state_->nodes.At(m.name).announcement.features.contains(schedule::Feature::kPlanCalls);
  });
  if (member == members.end()) return;  // no daemon of the team counts the calls of plans
  team->quick->is_sought = true;
  queries_->QueryStatus(
      {member->name}, kCallsTimeout, [this, id](const StatusAnswer& answer) { OnCallsSoFar(id, answer); },
      /*latencies=*/false, id);
}

void BetterPlans::OnCallsSoFar(TeamId id, const StatusAnswer& answer) {
  Team* team = state_->teams.Find(id);
  if (team == nullptr || !team->quick.has_value()) return;
  QuickState& quick = *team->quick;
  std::map<PlanId, uint64_t> calls;
  for (const schedule::DaemonStatus& status : answer.nodes) {
    for (const schedule::PlanCalls& made : status.plan_calls) calls[made.plan] = made.calls;
  }
  std::vector<PlanId> plans;
  for (const std::string& encoded : team->record.plans) plans.push_back(schedule::PlanIdIn(encoded));
  quick.saved_us = SavedUs(quick.savings_us, plans, calls);
  if (quick.saved_us < SwitchCostUs(team->node_count()) || !MayBeSwitchedNow(id)) return LookLater(*team);
  COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(team->record.layout), "team ", id.value(),
                  ": is switched to better plans, by which its calls would have saved ",
                  static_cast<int64_t>(quick.saved_us),
                  " us (switch=", static_cast<int64_t>(SwitchCostUs(team->node_count())), " us)");
  switches_->Switch(id, PlanOptions{}, [this, id](const absl::Status& status) {
    Team* kept = state_->teams.Find(id);
    if (status.ok() || kept == nullptr || !kept->quick.has_value()) return;
    COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(kept->record.layout), "team ", id.value(),
                    ": keeps its quick plans for now: ", status.message());
    LookLater(*kept);
  });
}

}  // namespace copse::coordinator
