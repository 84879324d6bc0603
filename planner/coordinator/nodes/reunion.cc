// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/nodes/reunion.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/interfaces/terms.h"
#include "protocol/log_subject.h"
#include "schedule/plan.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// After a store was lost, this many epoch numbers are skipped: it may have issued them, although no daemon knows them.
constexpr uint32_t kLostEpochs = 1024;

FailureReport UndecidedBefore(TeamId id) {
  return {Failure::kMemberLost,
          absl::StrCat("team ", id.value(), " was not decided before the connection to the planner was lost"),
          FailureCause::kNoPlanner};
}

}  // namespace

Standing Reunion::StandingOf(const schedule::RunningTeam& running, const schedule::NodeAnnouncement& node) {
  const schedule::TeamLayout& layout = *running.layout;
  if (Team* team = state_->teams.Find(layout.id)) {
    // All daemons of a large team report copies of one layout.
    if (!running.layout.IsCopyOf(team->confirmed)) {
      if (!schedule::IsSameTeam(team->record.layout, layout)) {
        team->shares_id = true;
        return Standing::kUnfit;
      }
      team->confirmed = running.layout;
    }
    const std::optional<uint32_t> member = team->MemberOf(node);
    if (!member.has_value()) return Standing::kUnfit;
    const bool is_over = team->members[*member].gone && running.epoch != EpochId{0};  // TakeUp aborts epoch 0
    return is_over ? Standing::kForgotten : Standing::kWelcome;
  }
  if (running.epoch == EpochId{0}) return Standing::kWelcome;  // undecided: TakeUp handles it
  if (state_->ended.Has(layout.id)) return Standing::kForgotten;
  const bool is_member = std::any_of(layout.nodes.begin(), layout.nodes.end(), [&](const schedule::TeamNode& member) {
    return member.name == node.name && member.incarnation == node.incarnation;
  });
  const bool is_fit = layout.id != TeamId{0} && TermOf(layout.id) <= kTermBelievedMax &&
                      layout.nodes.size() == layout.shape.node_count && schedule::CheckShape(layout.shape).ok();
  return is_member && is_fit ? Standing::kWelcome : Standing::kUnfit;
}

void Reunion::TakeUp(Node& node, const schedule::RunningTeam& running) {
  const TeamId id = running.layout->id;
  Team* team = state_->teams.Find(id);
  const std::optional<uint32_t> known = team == nullptr ? std::nullopt : team->MemberOf(node.announcement);
  if (running.epoch == EpochId{0} && (!known.has_value() || team->members[*known].gone)) {
    return TakeUndecided(node, running);
  }
  if (team == nullptr) {
    Adopt(running, node.announcement.name);
    team = state_->teams.Find(id);
  }
  node.teams.insert(id);
  Reconcile(*team, *team->MemberOf(node.announcement), running);
}

void Reunion::TakeUndecided(const Node& node, const schedule::RunningTeam& running) {
  const TeamId id = running.layout->id;
  const Team* team = state_->teams.Find(id);
  FailureReport why = UndecidedBefore(id);
  // The team was decided, and broke since this node was gone.
  if (team != nullptr && team->MemberOf(node.announcement).has_value()) why = team->record.why;
  // The store would have these teams if they had been decided.
  const bool is_recorded =
      TermOf(id) == state_->ids->term() || state_->ended.Has(id) ||
      (!schedule::IsSubTeam(*running.layout) && state_->ids->IsRecorded(TermOf(id), node.all_is_recorded));
  if (team != nullptr || is_recorded) {
    const schedule::TeamNode who{node.announcement.name, node.announcement.incarnation, {}};
    return state_->nodes.SendTo(who, schedule::Abort{id, running.prepared_epoch, why, {}});
  }
  undecided_[id].insert_or_assign(node.announcement.name, Undecided{running, state_->Now()});
  state_->sweep.Later();
}

void Reunion::NotListed(Team& team, uint32_t member) {
  const Member& state = team.members[member];
  if (state.left) return;
  if (state.known && state.committed < team.record.epoch) {
    ends_->Break(team,
                 {Failure::kInternal,
                  absl::StrCat("node ", team.record.layout.nodes[member].name, " came back without team ",
                               team.id().value(), ", whose epoch ", team.record.epoch.value(), " it had accepted"),
                  FailureCause::kFault, team.record.layout.nodes[member].name});
  }
  ends_->MarkLeft(team, member);
}

void Reunion::Reconcile(Team& team, uint32_t member, const schedule::RunningTeam& running) {
  TeamRecord& record = team.record;
  const schedule::TeamNode& who = record.layout.nodes[member];
  if (running.epoch > record.epoch && !team.change.has_value() && !AnyStaysAt(team, record.epoch)) {
    if (state_->nodes.At(who.name).all_is_recorded) DistrustStore(who.name);
    CatchUp(team, running);
  }
  TakePlans(team, running);
  const bool all_is_recorded = state_->nodes.At(who.name).all_is_recorded;
  const std::string text = absl::StrCat("node ", who.name, " came back to team ", team.id().value(), " ");
  team.members.Report(member, running.epoch);
  state_->nodes.NoteMachine(record, member);
  record.prepared = std::max(record.prepared, running.prepared_epoch);
  const auto fault = [&](const std::string& what) {
    return FailureReport{
        Failure::kInternal,
        absl::StrCat(text, what, " (epoch=", running.epoch.value(), ", recorded=", record.epoch.value(), ")"),
        FailureCause::kFault, who.name};
  };
  // The team may have broken before its epoch began on that node.
  FailureReport broken = running.why;
  if (broken.failure == Failure::kNone) {  // a daemon of proto 4
    broken = {Failure::kMemberLost, "", FailureCause::kUnknown, who.name};
  }
  broken.text = absl::StrCat(text, "and reports it broken", broken.text.empty() ? "" : ": ", broken.text);
  if (running.broken && running.epoch != record.epoch && !record.broken)
    return ends_->Break(team, broken, state_->nodes.Live(who));
  if (running.epoch > record.epoch) return ends_->Break(team, fault("with an epoch that is not recorded"));
  if (running.epoch < record.epoch) {
    if (running.prepared_epoch != record.epoch) return ends_->Break(team, fault("without the epoch that is recorded"));
    // If the planner lost the labels, the member's neighbors have them, and send the Commit.
    if (member < record.outgoing.size()) epochs_->SendCommit(team, member);
  } else if (running.prepared_epoch != EpochId{0}) {
    if (all_is_recorded) {
      state_->nodes.SendTo(
          who, schedule::Abort{
                   team.id(),
                   running.prepared_epoch,
                   {Failure::kMemberLost, "the switch was not decided before the connection to the planner was lost",
                    FailureCause::kNoPlanner},
                   {}});
    } else {
      team.members.SetPrepared(member, running.prepared_epoch);
    }
  }
  if (record.broken) {
    state_->nodes.SendTo(who, schedule::BreakTeam{team.id(), record.why});
  } else if (running.broken) {
    return ends_->Break(team, broken, state_->nodes.Live(who));
  }
  epochs_->SettlePrepared(team);
  ends_->BreakIfUntold(team);
  epochs_->CheckSettled(team);
}

void Reunion::TakePlans(Team& team, const schedule::RunningTeam& running) {
  TeamRecord& record = team.record;
  const bool is_sought = team.lacks_plans() || (team.durable() && !team.is_verified);
  if (!is_sought || running.epoch != record.epoch || running.plans->empty()) return;
  const bool is_recorded =
      !record.content.empty() && running.content == record.content && PlanIdsIn(*running.plans) == record.plan_ids;
  if (!is_recorded && !team.lacks_plans()) return;
  record.plans = *running.plans;
  if (is_recorded) {
    team.is_verified = true;
    state_->teams.IndexPlans(team);
  } else {
    state_->teams.VerifyLater(team.id());
  }
  if (!team.quick.has_value()) better_plans_->Resume(team.id());
}

void Reunion::Adopt(const schedule::RunningTeam& running, const std::string& by, bool has_all_reports) {
  const TeamId id = running.layout->id;
  COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(id, running.layout->identity), "team ", id.value(), " (",
                  schedule::DescribeTeam(running.layout->identity), ") is adopted (epoch=", running.epoch.value(), ")");
  Team& team = state_->teams.Add(id);
  team.record.layout = *running.layout;
  team.record.epoch = running.epoch;
  team.record.plans = *running.plans;
  team.record.prepared = EpochId{std::max(running.epoch, running.prepared_epoch).value() + kLostEpochs};
  team.members.Assign(team.record.layout);
  derived_->Note(team.record.layout);
  state_->nodes.NoteMachines(team.record);
  state_->teams.VerifyLater(id);
  state_->Record(team);

  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const schedule::TeamNode& member = team.record.layout.nodes[i];
    Node& node = NodeOfMember(team, i);
    // If another daemon has the member's name, the other members' daemons will report whether the member is lost.
    if (node.announcement.incarnation != member.incarnation) {
      team.nameless_since = state_->Now();
      state_->sweep.Later();
      continue;
    }
    node.teams.insert(id);
    // A daemon that has registered here without this team has left it.
    const auto undecided = undecided_.find(id);
    const bool has_prepared = undecided != undecided_.end() && undecided->second.count(member.name) != 0;
    if (has_all_reports && node.session != 0 && member.name != by && !has_prepared) team.members.MarkLeft(i);
  }
}

void Reunion::CatchUp(Team& team, const schedule::RunningTeam& running) {
  TeamRecord& record = team.record;
  COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(record.layout), "team ", team.id().value(), ": epoch ",
                  running.epoch.value(),
                  " was decided by a planner with another store (recorded=", record.epoch.value(), ")");
  record.epoch = running.epoch;
  record.plans = *running.plans;
  record.plan_ids.clear();
  record.content.clear();
  record.outgoing.clear();
  record.prepared = std::max(record.prepared, EpochId{running.epoch.value() + kLostEpochs});
  state_->teams.VerifyLater(team.id());
  state_->Record(team);
}

bool Reunion::AnyStaysAt(const Team& team, EpochId epoch) {
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Member& member = team.members[i];
    if (member.remains() && member.known && member.committed <= epoch && member.prepared <= epoch) return true;
  }
  return false;
}

void Reunion::DistrustStore(const std::string& shown_by) {
  state_->ids->LeaveStore();
  state_->nodes.ForEach([](Node& node) { node.all_is_recorded = false; });
  COPSE_LOG(kWarning, "the store is a copy from before decisions that daemons know (node=", shown_by,
            ", term=", state_->ids->term(), ")");
}

bool Reunion::AllAreHeard(const schedule::TeamLayout& layout) const {
  return std::all_of(layout.nodes.begin(), layout.nodes.end(), [this](const schedule::TeamNode& member) {
    const Node* node = state_->nodes.Find(member.name);  // this daemon, or the one that has its name now
    return node != nullptr && node->is_connected();
  });
}

void Reunion::SettleUndecided() {
  for (auto it = undecided_.begin(); it != undecided_.end();) {
    const auto current = it++;
    const TeamId id = current->first;
    const bool is_late = std::any_of(current->second.begin(), current->second.end(), [this](const auto& entry) {
      return state_->Now() - entry.second.since >= state_->options.forget_records;
    });
    const bool is_known = state_->teams.Find(id) != nullptr;
    if (!is_known && !is_late && !AllAreHeard(*current->second.begin()->second.running.layout)) continue;
    const Reports reports = std::move(current->second);
    undecided_.erase(current);
    Settle(id, reports);
  }
}

void Reunion::Settle(TeamId id, const Reports& reports) {
  for (const auto& [name, said] : reports) {
    Node* node = state_->nodes.Find(name);
    if (node == nullptr || !node->is_connected()) continue;  // it will report again when it is back
    if (Team* team = state_->teams.Find(id)) {
      const std::optional<uint32_t> member = team->MemberOf(node->announcement);
      if (!member.has_value()) continue;
      node->teams.insert(id);
      Reconcile(*team, *member, said.running);
    } else if (said.running.epoch == EpochId{0}) {
      const schedule::TeamNode who{name, node->announcement.incarnation, {}};
      AbortForGood(who, schedule::Abort{id, said.running.prepared_epoch, UndecidedBefore(id), {}});
    }
  }
}

void Reunion::OnCommitReply(const Node& node, const schedule::CommitReply& message) {
  const auto it = undecided_.find(message.team);
  if (it == undecided_.end()) return;
  const auto said = it->second.find(node.announcement.name);
  if (said == it->second.end() || said->second.running.prepared_epoch != message.epoch) return;
  schedule::RunningTeam& running = said->second.running;
  running.epoch = message.epoch;
  running.prepared_epoch = EpochId{0};
  // The neighbor that had the Commit may leave the team before it tells this coordinator of it.
  const bool is_new = state_->teams.Find(message.team) == nullptr;
  if (is_new && StandingOf(running, node.announcement) == Standing::kWelcome) Adopt(running, node.announcement.name);
  SettleUndecided();
}

void Reunion::OnLeaveTeam(const Node& node, const schedule::LeaveTeam& message) {
  const auto it = undecided_.find(message.team);
  if (it == undecided_.end()) return;
  it->second.erase(node.announcement.name);
  if (it->second.empty()) undecided_.erase(it);
}

void Reunion::OnTeamPlans(const Node& node, const schedule::TeamPlans& message) {
  Team* team = state_->teams.Find(message.team);
  if (team == nullptr || !team->MemberOf(node.announcement).has_value()) return;
  schedule::RunningTeam running;
  running.epoch = message.epoch;
  running.plans = message.plans;
  TakePlans(*team, running);
}

// Aborts a team that may run on other nodes, from which no coordinator may adopt it later. So the abort is recorded
// before the daemon is told.
void Reunion::AbortForGood(const schedule::TeamNode& who, const schedule::Abort& abort) {
  if (!state_->ended.Has(abort.team)) {
    state_->ended.Insert(abort.team);
    state_->outbox.Record(PutAborted{abort.team});
  }
  state_->nodes.SendTo(who, abort);
}

Node& Reunion::NodeOfMember(const Team& team, uint32_t index) {
  const schedule::TeamNode& member = team.record.layout.nodes[index];
  const auto [node, is_new] = state_->nodes.FindOrAdd(member.name);
  if (is_new) {
    node.announcement.name = member.name;
    node.announcement.incarnation = member.incarnation;
    node.announcement.worker_address = member.worker_address;
    if (index < team.record.machines.size()) node.announcement.machine = team.record.machines[index];
    node.away_since = state_->Now();
    state_->sweep.Later();
  }
  return node;
}

}  // namespace copse::coordinator
