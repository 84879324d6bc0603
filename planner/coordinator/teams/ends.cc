// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/teams/ends.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "protocol/log_subject.h"

namespace copse::coordinator {

using schedule::Failure;
using schedule::FailureReport;

void Ends::OnLeaveTeam(Node& node, const schedule::LeaveTeam& message) {
  Team* team = state_->teams.Find(message.team);
  const std::optional<uint32_t> member = team == nullptr ? std::nullopt : team->MemberOf(node.announcement);
  if (!member.has_value()) return state_->outbox.Send(node.session, schedule::EndTeam{message.team});
  MarkLeft(*team, *member);
}

void Ends::OnTeamBroken(Node& node, const schedule::TeamBroken& message) {
  Team* team = state_->teams.Find(message.team);
  if (team == nullptr || !team->MemberOf(node.announcement).has_value()) return;
  FailureReport why = message.why;
  if (why.failure == Failure::kNone) why.failure = Failure::kInternal;
  if (why.cause == FailureCause::kConnectionLost || why.cause == FailureCause::kNodeSilent) {
    for (const schedule::TeamNode& member : team->record.layout.nodes) {
      if (member.name == why.node) state_->NoteLost(why.node, member.incarnation);
    }
  }
  Break(*team, why, &node);
}

void Ends::Break(Team& team, const FailureReport& why, const Node* reporter) {
  const TeamId id = team.id();
  if (team.change.has_value()) {
    epochs_->AbortChange(team, why);
    if (state_->teams.Find(id) == nullptr) return;
  }
  if (team.record.broken) return;
  team.record.broken = true;
  team.record.why = why;
  state_->SettleForPlans(team);
  COPSE_LOG_ABOUT(kWarning, schedule::AboutTeam(team.record.layout), "team ", id.value(), " (",
                  schedule::DescribeTeam(team.record.layout.identity), ") is broken: ", why.text);
  state_->Note(id, "broken", why.text);
  state_->Record(team);
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Member& member = team.members[i];
    const schedule::TeamNode& node = team.record.layout.nodes[i];
    if (!member.left && !member.gone && state_->nodes.Live(node) != reporter)
      state_->nodes.SendTo(node, schedule::BreakTeam{id, why});
  }
  if (team.settled)
    std::exchange(team.settled, nullptr)(absl::DataLossError(absl::StrCat("team ", id.value(), " broke: ", why.text)));
  listener_->OnBroken(team.record.layout, why, reporter);
}

void Ends::BreakIfUntold(Team& team, absl::FunctionRef<bool(uint32_t)> is_lost) {
  if (!team.record.outgoing.empty() || team.record.broken || team.change.has_value()) return;
  const std::string* waits = nullptr;
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Member& member = team.members[i];
    if (!member.remains() || is_lost(i)) continue;
    if (!member.known || member.committed == team.record.epoch) return;  // the member has, or may have, the epoch
    waits = &team.record.layout.nodes[i].name;
  }
  if (waits == nullptr) return;
  Break(team, {Failure::kMemberLost,
               absl::StrCat("team ", team.id().value(), ": no node that ran it is there to tell node ", *waits,
                            " of epoch ", team.record.epoch.value()),
               FailureCause::kMemberLeft, *waits});
}

void Ends::MarkLeft(Team& team, uint32_t member) {
  const TeamId id = team.id();
  if (team.change.has_value()) {
    const std::string& name = team.record.layout.nodes[member].name;
    // Calls wait for a first epoch, and fail as they do in a team that the member left before. A switch only ends.
    const Failure failure = team.record.epoch == EpochId{0} ? Failure::kMemberLost : Failure::kCanceled;
    epochs_->AbortChange(team,
                         {failure, absl::StrCat("node ", name, " left the team"), FailureCause::kMemberLeft, name});
    if (state_->teams.Find(id) == nullptr) return;
  }
  team.members.MarkLeft(member);
  epochs_->SettlePrepared(team);
  BreakIfUntold(team);
  epochs_->CheckSettled(team);
  listener_->OnMemberLeft(id, member);
  MaybeEnd(team);
}

void Ends::NodeGone(Node& node, const FailureReport& why) {
  COPSE_LOG_ABOUT(kWarning, schedule::AboutNode(node.announcement.name), why.text, "; teams: ", node.teams.size());
  state_->Note(node, "lost", why.text);
  const std::set<TeamId> teams = std::exchange(node.teams, {});
  const schedule::NodeAnnouncement announcement = node.announcement;
  for (const TeamId id : teams) {
    Team* team = state_->teams.Find(id);
    if (team == nullptr) continue;
    const std::optional<uint32_t> member = team->MemberOf(announcement);
    if (!member.has_value()) continue;
    team->members.MarkGone(*member);
    // A node that had left does not break the team for its remaining members.
    if (!team->members[*member].left) Break(*team, why);
    team = state_->teams.Find(id);
    if (team == nullptr) continue;
    epochs_->SettlePrepared(*team);
    BreakIfUntold(*team);
    MaybeEnd(*team);
  }
}

void Ends::MaybeEnd(Team& team) {
  if (!team.members.none_remains()) return;
  const TeamId id = team.id();
  if (team.durable()) state_->outbox.Record(DropTeam{id});
  COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(team.record.layout), "team ", id.value(), " (",
                  schedule::DescribeTeam(team.record.layout.identity), ") ended");
  for (const schedule::TeamNode& member : team.record.layout.nodes) state_->nodes.SendTo(member, schedule::EndTeam{id});
  Forget(id);
}

void Ends::Forget(TeamId id, bool has_ended) {
  Team& team = state_->teams.At(id);
  state_->teams.ForgetPlans(team);
  state_->SettleForPlans(team);
  const auto settled = std::move(team.settled);
  has_ended &= !team.shares_id;  // the other team goes on
  // Sub-teams and classes' teams come and go with their parents' calls, and would leave no room for others.
  const bool is_told_of = team.durable() && !schedule::IsDerivedTeam(team.record.layout.identity);
  EndedTeam history = {.epoch = team.record.epoch,
                       .was_broken = team.record.broken,
                       .why = team.record.why.text,
                       .ended = state_->Now()};
  schedule::TeamLayout layout = std::move(team.record.layout);
  for (const schedule::TeamNode& member : layout.nodes) {
    Node* node = state_->nodes.Find(member.name);
    if (node != nullptr && node->announcement.incarnation == member.incarnation) node->teams.erase(id);
  }
  state_->teams.Erase(id);
  listener_->OnForgotten(layout);
  if (has_ended) state_->ended.Insert(id);
  if (is_told_of && history.epoch != EpochId{0}) {
    history.layout = std::move(layout);
    state_->history.Add(std::move(history));
  }
  if (settled) settled(absl::DataLossError(absl::StrCat("team ", id.value(), ": its record was dropped")));
}

void Ends::DropRecord(TeamId id) {
  const Team& team = state_->teams.At(id);
  COPSE_LOG_ABOUT(kInfo, schedule::AboutTeam(team.record.layout), "team ", id.value(), " (",
                  schedule::DescribeTeam(team.record.layout.identity), "): all its nodes are away for ",
                  absl::FormatDuration(state_->options.forget_records), ": its record is dropped");
  if (team.durable()) state_->outbox.Record(DropTeam{id});
  Forget(id, /*has_ended=*/false);
}

}  // namespace copse::coordinator
