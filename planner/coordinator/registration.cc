// SPDX-License-Identifier: Apache-2.0
//
// A daemon registers: may it, and what became of the teams that it still has.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/version.h"
#include "planner/coordinator/coordinator_impl.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

constexpr size_t kNodeNameLengthMax = 253;
// Between two tries to record what the store refuses.
constexpr absl::Duration kSaveAgain = absl::Seconds(1);

bool IsNodeName(const std::string& name) {
  if (name.empty() || name.size() > kNodeNameLengthMax) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

std::optional<FailureReport> Coordinator::Impl::RefusalOf(const schedule::NodeAnnouncement& node) const {
  if (!IsNodeName(node.name)) {
    return FailureReport{
        Failure::kInvalidArgument,
        absl::StrCat("not a node's name: letters, digits, '-', '_', '.' (name=", absl::CEscape(node.name), ")")};
  }
  const std::string who = absl::StrCat("node ", node.name, ": ");
  const bool shows_token = std::any_of(options_.join_tokens.begin(), options_.join_tokens.end(),
                                       [&](const std::string& token) { return SameSecret(token, node.join_token); });
  if (!options_.join_tokens.empty() && !shows_token) {
    return FailureReport{Failure::kPermission,
                         absl::StrCat(who, node.join_token.empty() ? "no join token" : "wrong join token")};
  }
  for (const absl::Status& status : {CheckVersion("proto", kProtoVersion, node.formats.proto),
                                     CheckVersion("plan format", kPlanFormatVersion, node.formats.plan),
                                     CheckVersion("packet", kPacketVersion, node.formats.packet)}) {
    if (!status.ok()) return FailureReport{Failure::kVersion, absl::StrCat(who, status.message())};
  }
  const auto it = nodes_.find(node.name);
  if (it != nodes_.end() && it->second.session != 0 && it->second.announcement.incarnation != node.incarnation) {
    return FailureReport{
        Failure::kPermission,
        absl::StrCat(who, "the name is in use by another daemon that is connected (incarnation=",
                     node.incarnation.value(), ", connected=", it->second.announcement.incarnation.value(), ")")};
  }
  return std::nullopt;
}

void Coordinator::Impl::OnRegister(SessionId session, const schedule::Register& message) {
  const schedule::NodeAnnouncement& announcement = message.node;
  if (const std::optional<FailureReport> refusal = RefusalOf(announcement); refusal.has_value()) {
    COPSE_LOG(kWarning, "registration refused: ", refusal->text);
    sink_->Send(session, schedule::Registered{false, *refusal, {}});
    sink_->Close(session, refusal->text);
    return OnDisconnected(session);
  }
  if (const auto it = nodes_.find(announcement.name); it != nodes_.end()) {
    Node& old = it->second;
    if (old.session != 0) {
      const SessionId replaced = old.session;
      sink_->Close(replaced, "replaced by a newer stream of the same daemon");
      OnDisconnected(replaced);
    }
    timers_.Cancel(old.lost_timer);
    if (old.announcement.incarnation != announcement.incarnation) {
      NodeGone(old, absl::StrCat("node ", announcement.name,
                                 " restarted (incarnation=", old.announcement.incarnation.value(),
                                 ", now=", announcement.incarnation.value(), ")"));
    }
  }
  Node& node = nodes_[announcement.name];
  node.announcement = announcement;
  node.announcement.join_token.clear();
  node.session = session;
  node.lost = false;
  timers_.Cancel(sessions_.at(session).register_timer);
  sessions_.at(session).node = announcement.name;
  COPSE_LOG(kInfo, "node ", announcement.name, " registered (incarnation=", announcement.incarnation.value(),
            ", version=", announcement.version, ", teams=", message.teams.size(), ")");

  schedule::Registered registered;
  registered.accepted = true;
  registered.features = {schedule::Feature::kSilence, schedule::Feature::kCompanions};
  std::set<TeamId> listed, forgotten;
  for (const schedule::RunningTeam& running : message.teams) {
    listed.insert(running.layout.id);
    if (!IsForgotten(running, announcement)) continue;
    if (forgotten.insert(running.layout.id).second) registered.forgotten.push_back(running.layout.id);
  }
  sink_->Send(session, registered);
  if (draining_.count(announcement.name) != 0) sink_->Send(session, schedule::Drain{true});
  for (const schedule::RunningTeam& running : message.teams) {
    if (forgotten.count(running.layout.id) == 0) TakeUp(node, running);
  }
  const std::set<TeamId> teams = node.teams;
  for (const TeamId id : teams) {
    Team* team = listed.count(id) == 0 ? TeamOf(id) : nullptr;
    if (team == nullptr) continue;
    if (const std::optional<uint32_t> member = MemberIndex(*team, announcement); member.has_value())
      NotListed(*team, *member);
  }
}

bool Coordinator::Impl::IsForgotten(const schedule::RunningTeam& running,
                                    const schedule::NodeAnnouncement& node) const {
  if (running.epoch == EpochId{0}) return false;  // has nothing to forget: see TakeUp
  const schedule::TeamLayout& layout = running.layout;
  const auto it = teams_.find(layout.id);
  if (it != teams_.end()) {
    const std::optional<uint32_t> member = MemberIndex(it->second, node);
    return !member.has_value() || it->second.members[*member].gone ||
           it->second.record.layout.identity != layout.identity;
  }
  if (ended_.count(layout.id) != 0) return true;
  // The store has it, unless it ended.
  if (IsDurable(layout) && layout.id < given_before_) return true;
  const bool is_member = std::any_of(layout.nodes.begin(), layout.nodes.end(), [&](const schedule::TeamNode& member) {
    return member.name == node.name && member.incarnation == node.incarnation;
  });
  const bool ranks_fit = std::all_of(layout.shape.node_of_rank.begin(), layout.shape.node_of_rank.end(),
                                     [&](NodeIndex index) { return index.value() < layout.nodes.size(); });
  return !is_member || !ranks_fit || layout.id == TeamId{0};
}

void Coordinator::Impl::TakeUp(Node& node, const schedule::RunningTeam& running) {
  const TeamId id = running.layout.id;
  Team* team = TeamOf(id);
  const std::optional<uint32_t> known = team == nullptr ? std::nullopt : MemberIndex(*team, node.announcement);
  if (running.epoch == EpochId{0} && (!known.has_value() || team->members[*known].gone)) {
    FailureReport why{
        Failure::kMemberLost,
        absl::StrCat("team ", id.value(), " was not decided before the connection to the planner was lost")};
    if (known.has_value()) why = team->record.why;  // decided, and broken since: this node was given up
    const schedule::TeamNode who{node.announcement.name, node.announcement.incarnation, {}};
    const schedule::Abort abort{id, running.prepared_epoch, why, {}};
    // The store knows of a team that is in it whether it was decided.
    if (team == nullptr && (!IsDurable(running.layout) || id >= given_before_)) return AbortForGood(who, abort);
    return SendTo(who, abort);
  }
  if (team == nullptr) {
    Adopt(running, node.announcement.name);
    team = TeamOf(id);
  }
  const std::optional<uint32_t> member = MemberIndex(*team, node.announcement);
  node.teams.insert(id);
  Reconcile(*team, *member, running);
}

void Coordinator::Impl::Reconcile(Team& team, uint32_t member, const schedule::RunningTeam& running) {
  const TeamRecord& record = team.record;
  const schedule::TeamNode& who = record.layout.nodes[member];
  const std::string text = absl::StrCat("node ", who.name, " came back to team ", team.id().value(), " ");
  team.members[member].known = true;
  team.members[member].committed = running.epoch;
  if (running.epoch > record.epoch) {
    return Break(team, {Failure::kInternal,
                        absl::StrCat(text, "with an epoch that is not recorded (epoch=", running.epoch.value(),
                                     ", recorded=", record.epoch.value(), ")")});
  }
  if (running.epoch < record.epoch) {
    const bool can_commit = running.prepared_epoch == record.epoch && member < record.outgoing.size();
    if (can_commit) {
      SendCommit(team, member);
    } else {
      if (running.prepared_epoch != EpochId{0}) {
        AbortForGood(
            who,
            schedule::Abort{
                team.id(), running.prepared_epoch, {Failure::kMemberLost, "the planner lost what it had decided"}, {}});
      }
      return Break(team, {Failure::kInternal,
                          absl::StrCat(text, "without the epoch that is recorded (epoch=", running.epoch.value(),
                                       ", recorded=", record.epoch.value(), ")")});
    }
  } else if (running.prepared_epoch != EpochId{0}) {
    SendTo(who, schedule::Abort{
                    team.id(),
                    running.prepared_epoch,
                    {Failure::kMemberLost, "the switch was not decided before the connection to the planner was lost"},
                    {}});
  }
  if (record.broken) {
    SendTo(who, schedule::BreakTeam{team.id(), record.why});
  } else if (running.broken) {
    return Break(team, {Failure::kMemberLost, absl::StrCat(text, "and reports it broken")}, LiveNode(who));
  }
  CheckSettled(team);
}

// Of a team that others may run: they shall not have it, whoever coordinates next. So it is recorded before the daemon
// is told; until that can be, it is tried again.
void Coordinator::Impl::AbortForGood(const schedule::TeamNode& who, const schedule::Abort& abort) {
  const absl::Status saved = ended_.count(abort.team) != 0 ? absl::OkStatus() : store_->SaveAborted(abort.team);
  if (saved.ok()) {
    ended_.insert(abort.team);
    return SendTo(who, abort);
  }
  COPSE_LOG(kError, "team ", abort.team.value(), " cannot be recorded as aborted: ", saved.message());
  timers_.Set(clock_->Now() + kSaveAgain, [this, who, abort] {
    if (LiveNode(who) != nullptr) AbortForGood(who, abort);
  });
}

// The planner lost a team that runs: it is taken over as the daemon tells it.
void Coordinator::Impl::Adopt(const schedule::RunningTeam& running, const std::string& by) {
  const TeamId id = running.layout.id;
  COPSE_LOG(kInfo, "team ", id.value(), " (", schedule::DescribeTeam(running.layout.identity),
            ") is adopted (epoch=", running.epoch.value(), ")");
  Team& team = teams_[id];
  team.record.layout = running.layout;
  team.record.epoch = running.epoch;
  team.record.plans = running.plans;
  team.record.prepared = std::max(running.epoch, running.prepared_epoch);
  team.members.resize(team.node_count());
  NoteCompanion(team.record.layout);
  next_.team = std::max(next_.team, TeamId{id.value() + 1});
  uint64_t plans_end = next_.plan.value();
  for (const PlanInfo& plan : PlansOf(team)) plans_end = std::max(plans_end, plan.plan.id.value() + 1);
  next_.plan = PlanId{plans_end};
  absl::Status status = ReserveIds(0, 0);
  if (status.ok()) status = SaveIfDurable(team);
  if (!status.ok()) COPSE_LOG(kError, "team ", id.value(), " cannot be recorded: ", status.message());

  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const schedule::TeamNode& member = team.record.layout.nodes[i];
    const auto [entry, is_new] = nodes_.try_emplace(member.name);
    Node& node = entry->second;
    if (is_new) {
      node.announcement.name = member.name;
      node.announcement.incarnation = member.incarnation;
      node.announcement.worker_address = member.worker_address;
      NodeAway(node);
    }
    if (node.announcement.incarnation != member.incarnation || node.lost) {
      team.members[i].gone = true;
      Break(team, {Failure::kMemberLost, absl::StrCat("node ", member.name, node.lost ? " is lost" : " restarted",
                                                      " (incarnation=", member.incarnation.value(), ")")});
      continue;
    }
    node.teams.insert(id);
    // It has registered since this coordinator started, without this team.
    if (node.session != 0 && member.name != by) team.members[i].left = true;
  }
}

// The daemon is back and has not named a team that it is a member of.
void Coordinator::Impl::NotListed(Team& team, uint32_t member) {
  const Member& state = team.members[member];
  if (state.left) return;
  if (state.known && state.committed < team.record.epoch) {
    Break(team, {Failure::kInternal,
                 absl::StrCat("node ", team.record.layout.nodes[member].name, " came back without team ",
                              team.id().value(), ", whose epoch ", team.record.epoch.value(), " it had accepted")});
  }
  MarkLeft(team, member);
}

}  // namespace copse::coordinator
