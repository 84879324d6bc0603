// SPDX-License-Identifier: Apache-2.0
//
// Teams lead from one epoch to the next: docs/reference/control.md describes the messages.
#include "planner/coordinator/teams/epochs.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "protocol/log_subject.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// A member that is asked for the team's plans has this time before the next one that commits is asked.
constexpr absl::Duration kAskAgain = absl::Seconds(1);

// Returns what is wrong with the labels that node index `self` has issued, or "" if they are valid.
std::string LabelMistake(const std::vector<schedule::EdgeLabel>& labels, uint32_t self, uint32_t node_count) {
  std::set<uint32_t> seen;
  for (const schedule::EdgeLabel& label : labels) {
    const uint32_t neighbor = label.neighbor.value();
    if (neighbor >= node_count || neighbor == self) {
      return absl::StrCat("label for node index ", neighbor, " (own=", self, ", nodes=", node_count, ")");
    }
    if (!seen.insert(neighbor).second) return absl::StrCat("two labels for node index ", neighbor);
  }
  return "";
}

// Returns whether `from` sends to `to` in any call of the plan. They are neighbors.
bool Sends(const schedule::Plan& plan, uint32_t from, uint32_t to) {
  if (plan.kind != schedule::PlanKind::kExchange) return true;  // at least credit is sent in both directions
  return std::any_of(plan.steps[from].begin(), plan.steps[from].end(),
                     [&](const schedule::ExchangeStep& step) { return step.send_to == to; });
}

// Sets `change.outgoing` to the labels that the members have issued, and returns the failure if one is missing that the
// plans need.
std::optional<FailureReport> AssignLabels(const schedule::TeamLayout& layout, Change& change) {
  const uint32_t node_count = static_cast<uint32_t>(layout.nodes.size());
  change.outgoing.assign(node_count, {});
  for (const auto& [member, reply] : change.replies) {
    for (const schedule::EdgeLabel& label : reply.incoming) {
      change.outgoing[label.neighbor.value()].push_back({NodeIndex{member}, label.label});
    }
  }
  const auto may_send = [&change](uint32_t from, uint32_t to) {  // the labels are in order of their issuers
    const std::vector<schedule::EdgeLabel>& labels = change.outgoing[from];
    const auto it = std::lower_bound(labels.begin(), labels.end(), NodeIndex{to},
                                     [](const schedule::EdgeLabel& a, NodeIndex b) { return a.neighbor < b; });
    return it != labels.end() && it->neighbor == NodeIndex{to};
  };
  for (const std::string& encoded : change.plans) {
    const absl::StatusOr<schedule::Plan> plan = schedule::DecodePlan(encoded);
    if (!plan.ok()) return schedule::ReportOf(plan.status());
    const auto neighbors = schedule::NeighborsByNode({&*plan, 1}, node_count);
    for (uint32_t from = 0; from < node_count; ++from) {
      for (const uint32_t to : neighbors[from]) {
        if (may_send(from, to) || !Sends(*plan, from, to)) continue;
        const std::string& silent = layout.nodes[to].name;
        return FailureReport{Failure::kInternal,
                             absl::StrCat("node ", silent, " issued no label for node ", layout.nodes[from].name),
                             FailureCause::kFault, silent};
      }
    }
  }
  return std::nullopt;
}

// Returns the first call of the change's epoch: calls that a member has started belong to the epoch before.
CallSeq FirstCallOf(const Team& team, const Change& change) {
  if (team.record.epoch == EpochId{0}) return CallSeq{0};
  uint64_t started = 0;
  for (const auto& [member, reply] : change.replies) started = std::max(started, reply.started.value());
  return CallSeq{started + team.record.layout.window + 1};
}

// Returns whether the daemons of all members form sub-teams of the team.
bool HasSubTeams(const Team& team, const NodeTable& nodes) {
  return !schedule::IsDerivedTeam(team.record.layout.identity) &&
         nodes.AllHave(team.record.layout.nodes, schedule::Feature::kSubTeams);
}

}  // namespace

FailureReport NotRecorded(const absl::Status& why) {
  return {Failure::kInternal, absl::StrCat("the planner could not record the decision: ", why.message())};
}

void Epochs::MakePlans(const schedule::TeamLayout& layout, const PlanOptions& options, EncodedPlansDone done) {
  state_->plan_maker->MakePlansLater(layout, options,
                                     [this, done = std::move(done)](absl::StatusOr<std::vector<schedule::Plan>> plans) {
                                       if (!plans.ok()) return done(plans.status());
                                       done(Encode(*std::move(plans)));
                                     });
}

absl::StatusOr<std::vector<std::string>> Epochs::Encode(std::vector<schedule::Plan> plans) {
  std::vector<std::string> encoded;
  for (schedule::Plan& plan : plans) {
    ASSIGN_OR_RETURN(plan.id, state_->ids->NextPlan());
    encoded.push_back(schedule::EncodePlan(plan));
  }
  return encoded;
}

void Epochs::StartFirstEpoch(schedule::TeamLayout layout, std::vector<Join> joins, FailureReport last_failure) {
  const TeamId id = layout.id;
  Team& team = state_->teams.Add(id);
  team.record.layout = std::move(layout);
  team.members.Assign(team.record.layout);
  for (const schedule::TeamNode& member : team.record.layout.nodes) state_->nodes.At(member.name).teams.insert(id);
  team.record.prepared = EpochId{1};
  Change change;
  change.epoch = team.record.prepared;
  change.joins = std::move(joins);
  change.last_failure = std::move(last_failure);
  change.begun = state_->Now();
  team.change = std::move(change);
  Step(team, &Epochs::MakeFirstPlans);
}

void Epochs::Step(Team& team, void (Epochs::*step)(Team&)) {
  if (team.node_count() <= state_->options.nodes_at_once) return (this->*step)(team);
  state_->backlog.Add([this, step, id = team.id(), epoch = team.change->epoch] {
    if (Team* const current = Changing(id, epoch)) (this->*step)(*current);
  });
}

Team* Epochs::Changing(TeamId id, EpochId epoch) {
  Team* const team = state_->teams.Find(id);
  return team != nullptr && team->change.has_value() && team->change->epoch == epoch ? team : nullptr;
}

void Epochs::MakeFirstPlans(Team& team) {
  std::optional<FirstPlans> first = state_->plan_maker->QuickPlans(team.record.layout);
  team.change->is_quick = first.has_value() && first->may_be_better;
  if (first.has_value()) {
    absl::StatusOr<std::vector<std::string>> plans = Encode(std::move(first->plans));
    if (!plans.ok()) return AbortChange(team, schedule::ReportOf(plans.status()));
    team.change->plans = *std::move(plans);
    return Step(team, &Epochs::SendPrepare);
  }
  MakePlans(team.record.layout, PlanOptions{}, [this, id = team.id()](absl::StatusOr<std::vector<std::string>> plans) {
    Team* planned = state_->teams.Find(id);
    if (planned == nullptr) return;  // it was aborted meanwhile
    if (!plans.ok()) return AbortChange(*planned, schedule::ReportOf(plans.status()));
    planned->change->plans = *std::move(plans);
    Step(*planned, &Epochs::SendPrepare);
  });
}

std::vector<std::vector<const Join*>> Epochs::JoinsByMember(const Team& team, const std::vector<Join>& joins) const {
  std::vector<std::vector<const Join*>> by_member(team.node_count());
  for (const Join& join : joins) {
    const Node* node = state_->nodes.Find(join.node);
    if (node == nullptr) continue;
    if (const auto member = team.MemberOf(node->announcement)) by_member[*member].push_back(&join);
  }
  return by_member;
}

void Epochs::SendPrepare(Team& team) {
  const TeamId id = team.id();
  const bool is_first = team.record.epoch == EpochId{0};
  const absl::Duration timeout = is_first ? state_->options.prepare_timeout
                                          : std::min(state_->options.prepare_timeout, state_->options.switch_timeout);
  team.change->timer =
      state_->timers.Set(state_->Now() + timeout, [this, id, timeout] { OnPrepareTimeout(id, timeout); });
  AwaitAddresses(team);
}

void Epochs::AwaitAddresses(Team& team) {
  if (team.node_count() > 1) {
    const std::vector<uint32_t> lacking = state_->nodes.AskForAddresses(team.record.layout.nodes);
    team.change->lacking.insert(lacking.begin(), lacking.end());
  }
  if (team.change->lacking.empty()) Step(team, &Epochs::SendPrepareNow);
}

void Epochs::OnAddress(const Node& node, const FailureReport& why) {
  for (const TeamId id : std::set<TeamId>(node.teams)) {
    Team* team = state_->teams.Find(id);
    if (team == nullptr || !team->change.has_value() || team->change->is_told || team->change->plans.empty()) continue;
    if (why.failure != schedule::Failure::kNone) {
      AbortChange(*team, why);
      continue;
    }
    const std::optional<uint32_t> member = team->MemberOf(node.announcement);
    if (!member.has_value() || team->change->lacking.erase(*member) == 0) continue;
    if (team->change->lacking.empty()) AwaitAddresses(*team);  // a member that has come back meanwhile may lack one
  }
}

void Epochs::SendPrepareNow(Team& team) {
  team.change->is_told = true;
  schedule::Prepare prepare;
  prepare.layout = team.record.layout;
  prepare.epoch = team.change->epoch;
  prepare.plans = team.change->plans;
  prepare.hash = schedule::PlanHash(absl::StrJoin(prepare.plans, ""));
  prepare.has_sub_teams = prepare.epoch == EpochId{1} && HasSubTeams(team, state_->nodes);
  prepare.last_failure = team.change->last_failure;
  const std::vector<std::vector<const Join*>> joins = JoinsByMember(team, team.change->joins);
  std::vector<PrepareMember> members;
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Node* node = state_->nodes.Live(team.record.layout.nodes[i]);
    if (node == nullptr) continue;
    // A daemon that reported the team knew only its neighbors' addresses.
    prepare.layout.nodes[i].worker_address = node->announcement.worker_address;
    PrepareMember& member =
        members.emplace_back(PrepareMember{.session = node->session, .node = NodeIndex(i), .requests = {}});
    for (const Join* join : joins[i]) member.requests.emplace_back(join->message.request, join->message.rank);
  }
  state_->outbox.SendPrepare(members, std::move(prepare));
}

void Epochs::OnPrepareTimeout(TeamId id, absl::Duration timeout) {
  Team& late = state_->teams.At(id);
  std::vector<std::string> silent;
  for (uint32_t i = 0; i < late.node_count(); ++i) {
    const Node* const node = state_->nodes.Live(late.record.layout.nodes[i]);
    const bool answers =
        late.change->is_told ? late.change->replies.contains(i) : node != nullptr && !node->lacks_address();
    if (!answers) silent.push_back(late.record.layout.nodes[i].name);
  }
  AbortChange(late, {.failure = Failure::kTimedOut,
                     .text = absl::StrCat("no answer to prepare within ", FormatShortDuration(timeout), " from node ",
                                          absl::StrJoin(silent, ", ")),
                     .cause = FailureCause::kNotFormedInTime,
                     .node = silent.size() == 1 ? silent.front() : "",
                     .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(timeout))});
}

void Epochs::StartSwitch(Team& team, std::vector<std::string> plans, std::function<void(const absl::Status&)> done) {
  const TeamId id = team.id();
  const EpochId epoch = ++team.record.prepared;
  Change change;
  change.epoch = epoch;
  change.plans = std::move(plans);
  change.done = std::move(done);
  team.change = std::move(change);
  state_->Record(team, [this, id, epoch](const absl::Status& stored) {
    Team* const changed = stored.ok() ? nullptr : Changing(id, epoch);
    if (changed != nullptr) AbortChange(*changed, NotRecorded(stored));
  });
  if (Changing(id, epoch) != nullptr) Step(team, &Epochs::SendPrepare);
}

void Epochs::AbortChange(Team& team, const FailureReport& why, bool again) {
  Change change = *std::move(team.change);
  team.change.reset();
  state_->timers.Cancel(change.timer);
  for (const Join& join : change.joins) state_->nodes.ForgetRequest(join.session, join.message.request);
  const TeamId id = team.id();
  const schedule::TeamLayout layout = team.record.layout;
  const bool ends = team.record.epoch == EpochId{0};
  again &= ends;
  const bool is_derived = schedule::IsDerivedTeam(layout.identity);
  if (ends) state_->formations.NoteUnformed(why, again);
  COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(layout), "team ", id.value(), ": epoch ", change.epoch.value(),
                  " is aborted: ", why.text);
  const std::vector<std::vector<const Join*>> joins = JoinsByMember(team, change.joins);
  for (uint32_t i = 0; i < layout.nodes.size(); ++i) {
    schedule::Abort abort{id, change.epoch, why, {}, again && !is_derived};
    // Daemons request derived teams again by themselves.
    for (const Join* join : joins[i]) {
      if (!(again && is_derived)) abort.requests.push_back(join->message.request);
    }
    state_->nodes.SendTo(layout.nodes[i], abort);
  }
  if (ends) {
    // A daemon that has the Prepare requests the team again at its Abort.
    std::vector<Join> unprepared = change.is_told ? std::vector<Join>{} : std::move(change.joins);
    listener_->OnFirstEpochAborted(layout, why, again, std::move(unprepared));
  }
  if (change.done) change.done(absl::AbortedError(absl::StrCat("team ", id.value(), ": ", why.text)));
}

void Epochs::OnPrepareReply(Node& node, const schedule::PrepareReply& message) {
  Team* team = state_->teams.Find(message.team);
  if (team == nullptr || !team->change.has_value() || !team->change->is_told || team->change->epoch != message.epoch)
    return;  // a reply for an aborted epoch
  const std::optional<uint32_t> member = team->MemberOf(node.announcement);
  if (!member.has_value() || team->change->replies.count(*member) != 0) return;
  const std::string who = absl::StrCat("node ", node.announcement.name);
  if (!message.accepted) {
    FailureReport why = message.why;
    if (why.failure == Failure::kNone) why.failure = Failure::kInternal;
    why.text = absl::StrCat(who, " refused: ", absl::StripPrefix(message.why.text, absl::StrCat(who, ": ")));
    if (why.node.empty()) why.node = node.announcement.name;
    return AbortChange(*team, why);
  }
  if (const std::string mistake = LabelMistake(message.incoming, *member, team->node_count()); !mistake.empty()) {
    return AbortChange(*team, {Failure::kInternal, absl::StrCat(who, " answered prepare badly: ", mistake),
                               FailureCause::kFault, node.announcement.name});
  }
  team->change->replies.emplace(*member, message);
  if (team->change->replies.size() < team->node_count()) return;
  state_->timers.Cancel(team->change->timer);
  Step(*team, &Epochs::Label);
}

void Epochs::Label(Team& team) {
  if (const std::optional<FailureReport> mistake = AssignLabels(team.record.layout, *team.change)) {
    return AbortChange(team, *mistake);
  }
  Step(team, &Epochs::Decide);
}

void Epochs::Decide(Team& team) {
  Change& change = *team.change;
  TeamRecord decided = team.record;
  decided.epoch = change.epoch;
  decided.plans = change.plans;
  decided.plan_ids.clear();
  decided.content.clear();
  decided.outgoing = std::move(change.outgoing);
  decided.first_call = FirstCallOf(team, change);
  state_->nodes.NoteMachines(decided);
  team.settled = change.done;
  team.unstored = Unstored{std::exchange(team.record, std::move(decided)), *std::move(team.change)};
  team.change.reset();
  team.is_verified = true;  // these plans are the planner's own
  state_->teams.IndexPlans(team);
  const TeamId id = team.id();
  const EpochId epoch = team.record.epoch;
  const schedule::TeamLayout& layout = team.record.layout;
  COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(layout), "team ", id.value(), " (",
                  schedule::DescribeTeam(layout.identity), ", ranks=", layout.shape.size(),
                  ", nodes=", team.node_count(), "): epoch ", epoch.value(), " from call ",
                  team.record.first_call.value());
  if (!schedule::IsDerivedTeam(layout.identity)) {
    state_->Note(id, epoch == EpochId{1} ? "formed" : "switched",
                 absl::StrCat("epoch=", epoch.value(), ", ranks=", layout.shape.size(), ", nodes=", team.node_count()));
  }
  // Once this is stored, the decision is final: every daemon that queries, now or after a restart, receives Commit.
  state_->Record(team, [this, id, epoch](const absl::Status& stored) {
    Team* decided_team = state_->teams.Find(id);
    if (decided_team == nullptr || !decided_team->unstored.has_value() || decided_team->record.epoch != epoch) return;
    if (!stored.ok()) return Undecide(*decided_team, stored);
    OnDecisionStored(*decided_team);
  });
  if (state_->teams.Find(id) == nullptr || team.record.epoch != epoch) return;  // there was no room
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    team.members.MarkKnown(i);
    SendCommit(team, i);
  }
}

void Epochs::OnDecisionStored(Team& team) {
  const Unstored& unstored = *team.unstored;
  const bool is_quick = unstored.change.is_quick;
  if (unstored.record.epoch == EpochId{0}) state_->formations.NoteFormed(state_->Now() - unstored.change.begun);
  team.unstored.reset();
  state_->SettleForPlans(team);
  if (is_quick) listener_->OnQuickPlans(team.id());
}

void Epochs::Undecide(Team& team, const absl::Status& why) {
  Unstored unstored = *std::move(team.unstored);
  team.unstored.reset();
  if (team.record.broken && unstored.record.epoch != EpochId{0})
    return state_->Record(team);  // it has ended in any epoch
  // That it broke may have been recorded after its decision, and is not taken back with it.
  const std::optional<TeamId> recorded = team.record.broken && team.durable() ? std::optional(team.id()) : std::nullopt;
  team.record = std::move(unstored.record);
  team.change = std::move(unstored.change);
  team.settled = nullptr;  // the change has it
  if (team.record.epoch != EpochId{0}) {
    if (team.record.outgoing.empty()) {
      state_->teams.VerifyLater(team.id());
    } else {
      state_->teams.IndexPlans(team);
    }
  }
  AbortChange(team, NotRecorded(why));
  if (recorded.has_value()) state_->outbox.Record(DropTeam{*recorded});
}

void Epochs::SendCommit(Team& team, uint32_t member) {
  const TeamRecord& record = team.record;
  state_->nodes.SendTo(record.layout.nodes[member],
                       schedule::Commit{record.layout.id, record.epoch, record.first_call, record.outgoing[member]});
}

void Epochs::OnCommitReply(Node& node, const schedule::CommitReply& message) {
  Team* team = state_->teams.Find(message.team);
  const std::optional<uint32_t> member = team == nullptr ? std::nullopt : team->MemberOf(node.announcement);
  if (!member.has_value() || message.epoch > team->record.epoch) return;
  team->members.Commit(*member, message.epoch);
  if (message.epoch == team->record.epoch) AskForPlans(*team, node);
  CheckSettled(*team);
}

void Epochs::AskForPlans(Team& team, const Node& node) {
  if (!team.lacks_plans() || state_->Now() < team.asked_for_plans + kAskAgain) return;
  if (!node.announcement.features.contains(schedule::Feature::kTeamPlans)) return;
  team.asked_for_plans = state_->Now();
  state_->outbox.Send(node.session, schedule::PlansQuery{team.id()});
  // It may leave the team before it is asked.
  state_->timers.Set(state_->Now() + kAskAgain, [this, id = team.id()] { AskAnyForPlans(id); });
}

void Epochs::AskAnyForPlans(TeamId id) {
  Team* const team = state_->teams.Find(id);
  for (uint32_t i = 0; team != nullptr && i < team->node_count(); ++i) {
    const Member& member = team->members[i];
    const Node* const node = state_->nodes.Live(team->record.layout.nodes[i]);
    const bool has_plans = member.remains() && member.known && member.committed == team->record.epoch;
    if (has_plans && node != nullptr) AskForPlans(*team, *node);
  }
}

void Epochs::CheckSettled(Team& team) {
  if (team.settled && team.members.AllCommitted(team.record.epoch))
    std::exchange(team.settled, nullptr)(absl::OkStatus());
}

void Epochs::OnEpochQuery(Node& node, const schedule::EpochQuery& message) {
  Team* team = state_->teams.Find(message.team);
  const std::optional<uint32_t> member = team == nullptr ? std::nullopt : team->MemberOf(node.announcement);
  if (team != nullptr && team->shares_id && !member.has_value()) return;  // nothing is known of the daemon's team
  if (member.has_value() && team->change.has_value() && team->change->epoch == message.epoch)
    return;                                                                            // the answer is pending
  if (member.has_value() && message.epoch == team->members[*member].prepared) return;  // pending, see SettlePrepared
  if (member.has_value() && message.epoch == team->record.epoch && team->record.outgoing.empty()) return;
  if (member.has_value() && message.epoch == team->record.epoch && *member < team->record.outgoing.size()) {
    SendCommit(*team, *member);
    if (team->record.broken) state_->outbox.Send(node.session, schedule::BreakTeam{message.team, team->record.why});
    return;
  }
  state_->outbox.Send(node.session, schedule::Abort{message.team,
                                                    message.epoch,
                                                    {Failure::kMemberLost, "the planner has not decided this epoch",
                                                     FailureCause::kNoPlanner},
                                                    {}});
}

void Epochs::SettlePrepared(Team& team) {
  if (!team.members.all_are_known()) return;
  for (const auto& [i, prepared] : team.members.TakePrepared()) {
    if (prepared <= team.record.epoch) continue;
    state_->nodes.SendTo(
        team.record.layout.nodes[i],
        schedule::Abort{team.id(),
                        prepared,
                        {Failure::kMemberLost, "the switch was not decided before the planner lost its store",
                         FailureCause::kNoPlanner},
                        {}});
  }
}

}  // namespace copse::coordinator
