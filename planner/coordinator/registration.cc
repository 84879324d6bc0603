// SPDX-License-Identifier: Apache-2.0
//
// Handles a daemon's registration: decides whether it is accepted, and reconciles the teams that the daemon still has.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/version.h"
#include "planner/coordinator/coordinator.h"
#include "schedule/plan.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

constexpr size_t kNodeNameLengthMax = 253;
// After a store was lost, this many epoch numbers are skipped: it may have issued them, although no daemon knows them.
constexpr uint32_t kLostEpochs = 1024;

bool IsNodeName(const std::string& name) {
  if (name.empty() || name.size() > kNodeNameLengthMax) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

// Returns the highest term that the daemon knows. Daemons of proto 4 report none, but the ids of their teams have
// terms.
uint64_t HighestTerm(const schedule::Register& message) {
  uint64_t term = message.term;
  for (const schedule::RunningTeam& running : message.teams) term = std::max(term, TermOf(running.layout->id));
  return term;
}

}  // namespace

std::optional<FailureReport> Coordinator::RefusalOf(SessionId session, const schedule::NodeAnnouncement& node) const {
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
  if (it == nodes_.end() || it->second.announcement.incarnation == node.incarnation) return std::nullopt;
  const Node& holder = it->second;
  const auto refusal = [&](const std::string& why) {
    const std::string& from = sessions_.at(session).from;
    return FailureReport{Failure::kPermission,
                         absl::StrCat(who, "the name is another daemon's, ", why, " (from=", from,
                                      ", incarnation=", node.incarnation.value(),
                                      ", other's=", holder.from.empty() ? "unknown" : holder.from,
                                      ", other's incarnation=", holder.announcement.incarnation.value(), ")"),
                         FailureCause::kNotPermitted, node.name};
  };
  if (holder.session != 0) return refusal("which is connected");
  if (Replaces(node, holder.announcement) || holder.is_lost()) return std::nullopt;
  // A daemon that is away this long loses its name. It may have left its teams unknown to this planner, so that no
  // neighbor would ever report its end.
  if (clock_->Now() - holder.away_since >= options_.forget_records) return std::nullopt;
  if (const Node* hearer = HearerOf(holder)) {
    return refusal(absl::StrCat("which is away, but heard by node ", hearer->announcement.name));
  }
  return std::nullopt;
}

bool Coordinator::Replaces(const schedule::NodeAnnouncement& newer, const schedule::NodeAnnouncement& older) {
  return !newer.machine.empty() && newer.machine == older.machine;
}

const Coordinator::Node* Coordinator::HearerOf(const Node& node) const {
  for (const TeamId id : node.teams) {
    const auto it = teams_.find(id);
    if (it == teams_.end() || it->second.record.broken) continue;
    const Team& team = it->second;
    const std::optional<uint32_t> self = MemberIndex(team, node.announcement);
    if (!self.has_value() || team.members[*self].left || team.members[*self].gone) continue;
    for (uint32_t i = 0; i < team.node_count(); ++i) {
      if (team.members[i].left || team.members[i].gone || i == *self) continue;
      if (team.members[i].committed == EpochId{0}) continue;  // it has no connections for this team yet
      if (const Node* other = LiveNode(team.record.layout.nodes[i])) return other;
    }
  }
  return nullptr;
}

void Coordinator::OnRegister(SessionId session, const schedule::Register& message) {
  const schedule::NodeAnnouncement& announcement = message.node;
  std::optional<FailureReport> refusal = RefusalOf(session, announcement);
  if (!refusal.has_value()) refusal = ForeignRefusal(message);
  if (refusal.has_value()) {
    COPSE_LOG(kWarning, "registration refused: ", refusal->text);
    outbox_.Send(session, schedule::Registered{.accepted = false, .why = *refusal});
    outbox_.Close(session, refusal->text);
    return OnDisconnected(session);
  }
  bool by_us = false;
  if (const auto it = nodes_.find(announcement.name); it != nodes_.end()) {
    Node& old = it->second;
    if (old.session != 0) {
      const SessionId replaced = old.session;
      outbox_.Close(replaced, "replaced by a newer stream of the same daemon");
      OnDisconnected(replaced);
    }
    const std::string which = absl::StrCat("(incarnation=", old.announcement.incarnation.value(),
                                           ", now=", announcement.incarnation.value(), ")");
    if (old.announcement.incarnation == announcement.incarnation) {
      by_us = old.has_registered;
    } else if (Replaces(announcement, old.announcement)) {
      NodeGone(old, {Failure::kMemberLost, absl::StrCat("node ", announcement.name, " restarted ", which),
                     FailureCause::kNodeRestarted, announcement.name});
    } else {
      COPSE_LOG(kWarning, "node ", announcement.name, ": another daemon has this name now ", which);
      // The older daemon may still run, with its teams; it counts as away.
      for (const TeamId id : std::exchange(old.teams, {})) teams_.at(id).nameless_since = clock_->Now();
      CollectLater();
    }
  }
  Node& node = nodes_[announcement.name];
  if (node.announcement.incarnation != announcement.incarnation) {
    // This daemon may have had the name before, and be a member of teams.
    for (const auto& [id, team] : teams_) {
      if (MemberIndex(team, announcement).has_value()) node.teams.insert(id);
    }
  }
  node.announcement = announcement;
  node.announcement.join_token.clear();
  node.session = session;
  node.from = sessions_.at(session).from;
  node.has_registered = true;
  // Teams of another cluster are broken ones here (ForeignRefusal), and its terms are no concern of this planner.
  const bool is_foreign = cluster_->IsForeign(message.cluster);
  const uint64_t term = is_foreign ? 0 : HighestTerm(message);
  node.all_is_recorded = ids_->IsRecorded(term, by_us);
  node.stopping = false;
  node.lost_at = absl::InfinitePast();
  timers_.Cancel(sessions_.at(session).register_timer);
  sessions_.at(session).node = announcement.name;
  COPSE_LOG(kInfo, "node ", announcement.name, " registered (incarnation=", announcement.incarnation.value(),
            ", version=", announcement.version, ", teams=", message.teams.size(), ")");
  events_.Note(clock_->Now(), absl::StrCat("node ", announcement.name), "registered",
               absl::StrCat("version=", announcement.version, ", teams=", message.teams.size()));
  HearTerm(term, by_us);

  schedule::Registered registered;
  registered.accepted = true;
  registered.features = {schedule::Feature::kSilence, schedule::Feature::kDerivedTeams, schedule::Feature::kStopping,
                         schedule::Feature::kSubTeams};
  registered.draining = draining_.count(announcement.name) != 0;
  registered.term = ids_->term();
  registered.cluster = cluster_->uuid();
  std::set<TeamId> listed, welcome;
  for (const schedule::RunningTeam& running : message.teams) {
    if (!listed.insert(running.layout->id).second) continue;
    if (is_foreign) {
      registered.forgotten.push_back(running.layout->id);
      continue;
    }
    switch (StandingOf(running, announcement)) {
      case Standing::kWelcome:
        welcome.insert(running.layout->id);
        break;
      case Standing::kForgotten:
        registered.forgotten.push_back(running.layout->id);
        break;
      case Standing::kUnfit:
        COPSE_LOG(kWarning, "node ", announcement.name, ": team ", running.layout->id.value(), " (",
                  schedule::DescribeTeam(running.layout->identity),
                  ") is left alone: its id is another team's, or it is none");
        break;
    }
  }
  outbox_.Send(session, registered);
  // Daemons of proto 4 ignore Registered::draining.
  if (registered.draining) outbox_.Send(session, schedule::Drain{true});
  for (const schedule::RunningTeam& running : message.teams) {
    if (welcome.erase(running.layout->id) != 0) TakeUp(node, running);
  }
  const std::set<TeamId> teams = node.teams;
  for (const TeamId id : teams) {
    Team* team = listed.count(id) == 0 ? TeamOf(id) : nullptr;
    if (team == nullptr) continue;
    if (const std::optional<uint32_t> member = MemberIndex(*team, announcement); member.has_value())
      NotListed(*team, *member);
  }
  SettleUndecided();
}

void Coordinator::HearTerm(uint64_t term, bool by_us) {
  if (!ids_->Hear(term, by_us)) return;
  COPSE_LOG(kWarning, "daemons know of a planner whose decisions are not in this store (term=", term,
            ", now=", ids_->term(), ")");
  if (clock_->Now() - started_ >= kSettle) return;
  settled_at_ = started_ + kSettle;
  joins_.Hold();
}

Coordinator::Standing Coordinator::StandingOf(const schedule::RunningTeam& running,
                                              const schedule::NodeAnnouncement& node) {
  const schedule::TeamLayout& layout = *running.layout;
  const auto it = teams_.find(layout.id);
  if (it != teams_.end()) {
    // All daemons of a large team report copies of one layout.
    if (!running.layout.IsCopyOf(it->second.confirmed)) {
      if (!schedule::IsSameTeam(it->second.record.layout, layout)) return Standing::kUnfit;
      it->second.confirmed = running.layout;
    }
    const std::optional<uint32_t> member = MemberIndex(it->second, node);
    if (!member.has_value()) return Standing::kUnfit;
    const bool is_over = it->second.members[*member].gone && running.epoch != EpochId{0};  // TakeUp aborts epoch 0
    return is_over ? Standing::kForgotten : Standing::kWelcome;
  }
  if (running.epoch == EpochId{0}) return Standing::kWelcome;  // undecided: TakeUp handles it
  if (ended_.Has(layout.id)) return Standing::kForgotten;
  const bool is_member = std::any_of(layout.nodes.begin(), layout.nodes.end(), [&](const schedule::TeamNode& member) {
    return member.name == node.name && member.incarnation == node.incarnation;
  });
  const bool is_fit = layout.id != TeamId{0} && TermOf(layout.id) <= kTermBelievedMax &&
                      layout.nodes.size() == layout.shape.node_count && schedule::CheckShape(layout.shape).ok();
  return is_member && is_fit ? Standing::kWelcome : Standing::kUnfit;
}

void Coordinator::TakeUp(Node& node, const schedule::RunningTeam& running) {
  const TeamId id = running.layout->id;
  Team* team = TeamOf(id);
  const std::optional<uint32_t> known = team == nullptr ? std::nullopt : MemberIndex(*team, node.announcement);
  if (running.epoch == EpochId{0} && (!known.has_value() || team->members[*known].gone)) {
    FailureReport why{
        Failure::kMemberLost,
        absl::StrCat("team ", id.value(), " was not decided before the connection to the planner was lost"),
        FailureCause::kNoPlanner};
    if (known.has_value()) why = team->record.why;  // decided, and broken since this node was gone
    const schedule::TeamNode who{node.announcement.name, node.announcement.incarnation, {}};
    const schedule::Abort abort{id, running.prepared_epoch, why, {}};
    // The store would have these teams if they had been decided.
    const bool is_recorded = TermOf(id) == ids_->term() || ended_.Has(id) ||
                             (IsDurable(*running.layout) && ids_->IsRecorded(TermOf(id), node.all_is_recorded));
    if (team != nullptr || is_recorded) return SendTo(who, abort);
    undecided_[id].insert_or_assign(node.announcement.name, Undecided{running, clock_->Now()});
    return CollectLater();
  }
  if (team == nullptr) {
    Adopt(running, node.announcement.name);
    team = TeamOf(id);
  }
  const std::optional<uint32_t> member = MemberIndex(*team, node.announcement);
  node.teams.insert(id);
  Reconcile(*team, *member, running);
}

bool Coordinator::AllAreHeard(const schedule::TeamLayout& layout) const {
  return std::all_of(layout.nodes.begin(), layout.nodes.end(), [this](const schedule::TeamNode& member) {
    const auto it = nodes_.find(member.name);
    return it != nodes_.end() && it->second.session != 0;  // this daemon, or the one that has its name now
  });
}

void Coordinator::SettleUndecided() {
  for (auto it = undecided_.begin(); it != undecided_.end();) {
    const auto current = it++;
    const TeamId id = current->first;
    const bool is_late = std::any_of(current->second.begin(), current->second.end(), [this](const auto& entry) {
      return clock_->Now() - entry.second.since >= options_.forget_records;
    });
    if (TeamOf(id) == nullptr && !is_late && !AllAreHeard(*current->second.begin()->second.running.layout)) continue;
    const std::map<std::string, Undecided> daemons = std::move(current->second);
    undecided_.erase(current);
    for (const auto& [name, said] : daemons) {
      Team* team = TeamOf(id);
      const auto node = nodes_.find(name);
      if (node == nodes_.end() || node->second.session == 0) continue;  // it will report again when it is back
      if (team != nullptr) {
        const std::optional<uint32_t> member = MemberIndex(*team, node->second.announcement);
        if (!member.has_value()) continue;
        node->second.teams.insert(id);
        Reconcile(*team, *member, said.running);
      } else if (said.running.epoch == EpochId{0}) {
        AbortForGood({name, node->second.announcement.incarnation, {}},
                     schedule::Abort{id,
                                     said.running.prepared_epoch,
                                     {Failure::kMemberLost,
                                      absl::StrCat("team ", id.value(),
                                                   " was not decided before the connection to the planner was lost"),
                                      FailureCause::kNoPlanner},
                                     {}});
      }
    }
  }
}

void Coordinator::CatchUp(Team& team, const schedule::RunningTeam& running) {
  TeamRecord& record = team.record;
  COPSE_LOG(kInfo, "team ", team.id().value(), ": epoch ", running.epoch.value(),
            " was decided by a planner with another store (recorded=", record.epoch.value(), ")");
  record.epoch = running.epoch;
  record.plans = *running.plans;
  record.outgoing.clear();
  record.prepared = std::max(record.prepared, EpochId{running.epoch.value() + kLostEpochs});
  Record(team);
  VerifyLater(team.id());
}

void Coordinator::BreakIfUntold(Team& team) {
  if (!team.record.outgoing.empty() || team.record.broken || team.change.has_value()) return;
  const std::string* waits = nullptr;
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Member& member = team.members[i];
    if (member.left || member.gone) continue;
    if (!member.known || member.committed == team.record.epoch) return;  // the member has, or may have, the epoch
    waits = &team.record.layout.nodes[i].name;
  }
  if (waits == nullptr) return;
  Break(team, {Failure::kMemberLost,
               absl::StrCat("team ", team.id().value(), ": the nodes that ran it left before node ", *waits,
                            " was told of epoch ", team.record.epoch.value()),
               FailureCause::kMemberLeft, *waits});
}

void Coordinator::SettlePrepared(Team& team) {
  if (!team.members.all_are_known()) return;
  for (const auto& [i, prepared] : team.members.TakePrepared()) {
    if (prepared <= team.record.epoch) continue;
    SendTo(team.record.layout.nodes[i],
           schedule::Abort{team.id(),
                           prepared,
                           {Failure::kMemberLost, "the switch was not decided before the planner lost its store",
                            FailureCause::kNoPlanner},
                           {}});
  }
}

void Coordinator::Reconcile(Team& team, uint32_t member, const schedule::RunningTeam& running) {
  TeamRecord& record = team.record;
  const schedule::TeamNode& who = record.layout.nodes[member];
  const bool all_is_recorded = nodes_.at(who.name).all_is_recorded;
  if (running.epoch > record.epoch && !team.change.has_value() && !all_is_recorded) CatchUp(team, running);
  const std::string text = absl::StrCat("node ", who.name, " came back to team ", team.id().value(), " ");
  team.members.Report(member, running.epoch);
  NoteMachine(record, member);
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
  if (running.broken && running.epoch != record.epoch && !record.broken) return Break(team, broken, LiveNode(who));
  if (running.epoch > record.epoch) return Break(team, fault("with an epoch that is not recorded"));
  if (running.epoch < record.epoch) {
    if (running.prepared_epoch != record.epoch) return Break(team, fault("without the epoch that is recorded"));
    // If the planner lost the labels, the member's neighbors have them, and send the Commit.
    if (member < record.outgoing.size()) SendCommit(team, member);
  } else if (running.prepared_epoch != EpochId{0}) {
    if (all_is_recorded) {
      SendTo(who, schedule::Abort{
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
    SendTo(who, schedule::BreakTeam{team.id(), record.why});
  } else if (running.broken) {
    return Break(team, broken, LiveNode(who));
  }
  SettlePrepared(team);
  BreakIfUntold(team);
  CheckSettled(team);
}

// Aborts a team that may run on other nodes, from which no coordinator may adopt it later. So the abort is recorded
// before the daemon is told.
void Coordinator::AbortForGood(const schedule::TeamNode& who, const schedule::Abort& abort) {
  if (!ended_.Has(abort.team)) {
    ended_.Insert(abort.team);
    outbox_.Record(PutAborted{abort.team});
  }
  SendTo(who, abort);
}

void Coordinator::Adopt(const schedule::RunningTeam& running, const std::string& by, bool has_all_reports) {
  const TeamId id = running.layout->id;
  COPSE_LOG(kInfo, "team ", id.value(), " (", schedule::DescribeTeam(running.layout->identity),
            ") is adopted (epoch=", running.epoch.value(), ")");
  Team& team = teams_[id];
  team.record.layout = *running.layout;
  team.record.epoch = running.epoch;
  team.record.plans = *running.plans;
  team.record.prepared = EpochId{std::max(running.epoch, running.prepared_epoch).value() + kLostEpochs};
  team.members.Assign(team.record.layout.nodes);
  NoteDerivedTeam(team.record.layout);
  NoteMachines(team.record);
  VerifyLater(id);
  Record(team);

  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const schedule::TeamNode& member = team.record.layout.nodes[i];
    Node& node = NodeOfMember(team, i);
    // If another daemon has the member's name, the other members' daemons will report whether the member is lost.
    if (node.announcement.incarnation != member.incarnation) {
      team.nameless_since = clock_->Now();
      CollectLater();
      continue;
    }
    node.teams.insert(id);
    // A daemon that has registered here without this team has left it.
    const auto undecided = undecided_.find(id);
    const bool has_prepared = undecided != undecided_.end() && undecided->second.count(member.name) != 0;
    if (has_all_reports && node.session != 0 && member.name != by && !has_prepared) team.members.MarkLeft(i);
  }
}

// Handles a member that has registered again without listing the team: it has left the team.
void Coordinator::NotListed(Team& team, uint32_t member) {
  const Member& state = team.members[member];
  if (state.left) return;
  if (state.known && state.committed < team.record.epoch) {
    Break(team, {Failure::kInternal,
                 absl::StrCat("node ", team.record.layout.nodes[member].name, " came back without team ",
                              team.id().value(), ", whose epoch ", team.record.epoch.value(), " it had accepted"),
                 FailureCause::kFault, team.record.layout.nodes[member].name});
  }
  MarkLeft(team, member);
}

}  // namespace copse::coordinator
