// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/views/cluster_view.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "planner/coordinator/state/first_plans.h"

namespace copse::coordinator {
namespace {

const char* StateOf(const State& state, const Node& node) {
  if (node.session == 0) return node.is_lost() ? "lost" : "away";
  return node.stopping || state.drains.Has(node.announcement.name) ? "draining" : "ready";
}

NodeInfo InfoOf(const State& state, const Node& node) {
  NodeInfo info;
  info.announcement = &node.announcement;
  info.connected = node.session != 0;
  info.state = StateOf(state, node);
  if (const std::string* why = state.drains.Find(node.announcement.name)) info.why = *why;
  info.last_seen_s = info.connected ? 0 : absl::ToDoubleSeconds(state.Now() - node.away_since);
  for (const TeamId id : node.teams) {
    const Team& team = state.teams.At(id);
    const std::optional<uint32_t> member = team.MemberOf(node.announcement);
    if (team.record.layout.parent != TeamId{0} || !member.has_value() || team.members[*member].left) continue;
    info.ranks += team.members[*member].ranks;
  }
  return info;
}

ReportInfo ReportOf(const State& state, const Node& node) {
  return {.node = &node.announcement.name,
          .report = node.report.has_value() ? &*node.report : nullptr,
          .age = state.Now() - node.reported_at};
}

const char* StateOf(const Team& team) {
  return team.record.broken ? "broken" : team.record.epoch == EpochId{0} ? "forming" : "ready";
}

std::string WhyOf(const Team& team) {
  if (team.record.broken || !team.lacks_plans()) return team.record.why.text;
  return "its plans are not known: no daemon that has them is connected";
}

TeamInfo InfoOf(const Team& team) {
  TeamInfo info;
  info.layout = team.record.layout;
  info.size = team.record.layout.shape.size();
  info.epoch = team.record.epoch;
  info.state = StateOf(team);
  info.why = WhyOf(team);
  return info;
}

TeamInfo InfoOf(const Forming& forming) {
  TeamInfo info;
  info.layout.identity = forming.identity;
  info.layout.parent = forming.parent;
  info.size = forming.size;
  info.state = "forming";
  return info;
}

std::vector<PlanInfo> PlansOf(const Team& team) {
  std::vector<PlanInfo> out;
  if (!team.is_verified) return out;
  for (const std::string& encoded : team.record.plans) {
    absl::StatusOr<schedule::Plan> plan = schedule::DecodePlan(encoded);
    if (plan.ok()) out.push_back({team.record.layout, team.record.epoch, *std::move(plan)});
  }
  return out;
}

// Returns nullopt if the team has the plan no more.
std::optional<ListedPlan> Listed(PlanId id, const PlanPlace& place) {
  const TeamRecord& record = place.team->record;
  if (record.plans.empty()) return ListedPlan{.id = id, .epoch = record.epoch, .layout = &record.layout};
  if (place.index >= record.plans.size() || schedule::PlanIdIn(record.plans[place.index]) != id) return std::nullopt;
  return ListedPlan{.id = id, .epoch = record.epoch, .layout = &record.layout, .encoded = &record.plans[place.index]};
}

// Returns what is known of better plans for the team, as lines; "" if none are looked for.
std::string DescribeBetterPlans(const Team& team) {
  if (!team.quick.has_value()) return "";
  const QuickState& quick = *team.quick;
  if (quick.savings_us.empty()) return absl::StrCat("better plans: ", quick.is_sought ? "" : "not ", "being made\n");
  std::string text = "better plans: a typical call of the team's plans would save";
  for (size_t i = 0; i < std::min(quick.savings_us.size(), team.plan_ids.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? " " : ", ", team.plan_ids[i].value(),
                    absl::StrFormat(": %.1f us", quick.savings_us[i]));
  }
  absl::StrAppend(&text, absl::StrFormat("\nthe team's calls so far would have saved %.1f us; ", quick.saved_us));
  if (!team.durable()) return absl::StrCat(text, "a sub-team keeps its plans\n");
  if (!quick.any_saves()) return absl::StrCat(text, "the team keeps its plans\n");
  return absl::StrCat(text, absl::StrFormat("it is switched when they reach %.1f us, the cost of a switch\n",
                                            SwitchCostUs(team.node_count())));
}

}  // namespace

std::vector<NodeInfo> ClusterView::Nodes() const {
  std::vector<NodeInfo> out;
  for (const auto& [name, node] : state_->nodes.all()) out.push_back(InfoOf(*state_, node));
  return out;
}

std::optional<NodeInfo> ClusterView::NodeAfter(const std::string& name) const {
  const Node* const node = state_->nodes.After(name);
  if (node == nullptr) return std::nullopt;
  return InfoOf(*state_, *node);
}

std::vector<ReportInfo> ClusterView::Reports() const {
  std::vector<ReportInfo> out;
  for (const auto& [name, node] : state_->nodes.all()) {
    if (node.is_connected()) out.push_back(ReportOf(*state_, node));
  }
  return out;
}

std::optional<ReportInfo> ClusterView::FindReport(const std::string& name) const {
  const Node* node = state_->nodes.Find(name);
  if (node == nullptr || !node->is_connected()) return std::nullopt;
  return ReportOf(*state_, *node);
}

std::map<std::string, uint64_t> ClusterView::NodesByState() const {
  std::map<std::string, uint64_t> counts = {{"ready", 0}, {"draining", 0}, {"away", 0}, {"lost", 0}};
  for (const auto& [name, node] : state_->nodes.all()) ++counts[StateOf(*state_, node)];
  return counts;
}

std::optional<std::string> ClusterView::StateIfConnected(const std::string& name, Incarnation incarnation) const {
  const Node* node = state_->nodes.Find(name);
  if (node == nullptr || !node->is_connected() || node->announcement.incarnation != incarnation) return std::nullopt;
  return StateOf(*state_, *node);
}

absl::StatusOr<NodeInfo> ClusterView::FindNode(const std::string& name) const {
  const Node* node = state_->nodes.Find(name);
  if (node == nullptr) return absl::NotFoundError(absl::StrCat("node ", name, ": not known"));
  return InfoOf(*state_, *node);
}

std::vector<TeamInfo> ClusterView::Teams() const {
  std::vector<TeamInfo> out;
  for (auto forming = joins_->After(nullptr, TeamId{0}); forming.has_value();
       forming = joins_->After(&forming->identity, forming->parent)) {
    out.push_back(InfoOf(*forming));
  }
  for (const auto& [id, team] : state_->teams.all()) out.push_back(InfoOf(team));
  return out;
}

std::optional<TeamInfo> ClusterView::TeamAfter(const schedule::TeamLayout* last) const {
  if (last != nullptr && last->id != TeamId{0}) return IdentifiedTeamAfter(last->id);
  if (const auto forming =
          joins_->After(last == nullptr ? nullptr : &last->identity, last == nullptr ? TeamId{0} : last->parent)) {
    return InfoOf(*forming);
  }
  return IdentifiedTeamAfter(TeamId{0});
}

std::optional<TeamInfo> ClusterView::IdentifiedTeamAfter(TeamId last) const {
  const auto it = state_->teams.all().upper_bound(last);
  if (it == state_->teams.all().end()) return std::nullopt;
  return InfoOf(it->second);
}

std::optional<TeamInfo> ClusterView::EndedTeamAfter(uint64_t* last) const {
  const EndedTeam* const team = state_->history.After(*last);
  if (team == nullptr) return std::nullopt;
  *last = team->number;
  return TeamInfo{.layout = team->layout,
                  .size = team->layout.shape.size(),
                  .epoch = team->epoch,
                  .state = team->was_broken ? "broken" : "ended",
                  .why = team->why,
                  .ended_ago = state_->Now() - team->ended};
}

std::map<std::string, uint64_t> ClusterView::TeamsByState() const {
  std::map<std::string, uint64_t> counts = {{"forming", joins_->size()}, {"ready", 0}, {"broken", 0}};
  for (const auto& [id, team] : state_->teams.all()) ++counts[StateOf(team)];
  return counts;
}

absl::StatusOr<TeamInfo> ClusterView::FindTeam(TeamId id) const {
  const Team* team = state_->teams.Find(id);
  if (team == nullptr) return absl::NotFoundError(absl::StrCat("team ", id.value(), ": not known"));
  return InfoOf(*team);
}

std::vector<PlanInfo> ClusterView::Plans() const {
  std::vector<PlanInfo> out;
  for (const auto& [id, team] : state_->teams.all()) {
    for (PlanInfo& plan : PlansOf(team)) out.push_back(std::move(plan));
  }
  std::stable_sort(out.begin(), out.end(), [](const PlanInfo& a, const PlanInfo& b) { return a.plan.id < b.plan.id; });
  return out;
}

std::vector<schedule::Plan> ClusterView::PlansOfTeam(TeamId id) const {
  std::vector<schedule::Plan> plans;
  const Team* team = state_->teams.Find(id);
  if (team == nullptr) return plans;
  for (PlanInfo& info : PlansOf(*team)) plans.push_back(std::move(info.plan));
  std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return plans;
}

std::optional<ListedPlan> ClusterView::PlanAfter(PlanCursor* last,
                                                 const std::function<bool(const schedule::TeamLayout&)>& wanted) const {
  while (const auto* const next = state_->teams.NextPlan(last)) {
    if (!wanted(next->second.team->record.layout)) continue;
    if (const std::optional<ListedPlan> plan = Listed(next->first, next->second)) return plan;
  }
  return std::nullopt;
}

absl::StatusOr<PlanInfo> ClusterView::FindPlan(PlanId id) const {
  const std::optional<ListedPlan> listed = ListPlan(id);
  if (!listed.has_value()) return absl::NotFoundError(absl::StrCat("plan ", id.value(), ": not known"));
  if (listed->encoded == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("plan ", id.value(), " of team ", listed->layout->id.value(),
                     ": its content is not known: no daemon that has it is connected"));
  }
  ASSIGN_OR_RETURN(schedule::Plan plan, schedule::DecodePlan(*listed->encoded));
  return PlanInfo{*listed->layout, listed->epoch, std::move(plan)};
}

std::optional<ListedPlan> ClusterView::ListPlan(PlanId id) const {
  const auto plan = state_->teams.of_plans().find(id);
  return plan == state_->teams.of_plans().end() ? std::nullopt : Listed(id, plan->second);
}

void ClusterView::Explain(PlanId id, PlanMaker::Bytes bytes, PlanMaker::ExplainDone done) const {
  const absl::StatusOr<PlanInfo> info = FindPlan(id);
  if (!info.ok()) return done(info.status());
  state_->plan_maker->ExplainLater(
      info->layout, info->plan, bytes, [this, id, done = std::move(done)](absl::StatusOr<PlanExplanation> explanation) {
        const auto place = state_->teams.of_plans().find(id);  // its team may have ended meanwhile
        if (explanation.ok() && place != state_->teams.of_plans().end()) {
          absl::StrAppend(&explanation->text, DescribeBetterPlans(*place->second.team));
        }
        done(std::move(explanation));
      });
}

void ClusterView::CriticalPath(PlanId id, PlanMaker::PathDone done) const {
  const absl::StatusOr<PlanInfo> info = FindPlan(id);
  if (!info.ok()) return done(info.status());
  state_->plan_maker->CriticalPathLater(info->layout, info->plan, std::move(done));
}

std::vector<CollectiveInfo> ClusterView::MergeCalls(const StatusAnswer& answer) const {
  CallMerge merge;
  for (const schedule::DaemonStatus& status : answer.nodes) merge.Add(status.node, status);
  std::vector<CollectiveInfo> out;
  while (std::optional<CollectiveInfo> call = NextCall(&merge)) out.push_back(*std::move(call));
  return out;
}

std::optional<CollectiveInfo> ClusterView::NextCall(CallMerge* merge) const {
  const std::optional<TeamId> id = merge->NextTeam();
  if (!id.has_value()) return std::nullopt;
  const Team* team = state_->teams.Find(*id);
  return merge->Next(team == nullptr ? nullptr : &team->record.layout);
}

}  // namespace copse::coordinator
