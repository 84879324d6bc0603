// SPDX-License-Identifier: Apache-2.0
//
// Keeps the state of nodes: which ones have a stream, are away, or are gone.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "planner/coordinator/coordinator.h"

namespace copse::coordinator {

using schedule::Failure;
using schedule::FailureReport;

Coordinator::Node& Coordinator::NodeOfMember(const Team& team, uint32_t index) {
  const schedule::TeamNode& member = team.record.layout.nodes[index];
  const auto [entry, is_new] = nodes_.try_emplace(member.name);
  Node& node = entry->second;
  if (is_new) {
    node.announcement.name = member.name;
    node.announcement.incarnation = member.incarnation;
    node.announcement.worker_address = member.worker_address;
    if (index < team.record.machines.size()) node.announcement.machine = team.record.machines[index];
    NodeAway(node);
  }
  return node;
}

// The node's teams continue: the end of its stream to the planner says nothing about its streams to its neighbors.
void Coordinator::StreamEnded(SessionId session) {
  Node& node = nodes_.at(sessions_.at(session).node);
  const std::string name = node.announcement.name;
  COPSE_LOG(kInfo, "node ", name, " (incarnation=", node.announcement.incarnation.value(), ") has no stream any more");
  events_.Note(clock_->Now(), absl::StrCat("node ", name), "away", absl::StrCat("teams=", node.teams.size()));
  sessions_.at(session).node.clear();
  node.session = 0;
  node.stopping = false;
  NodeAway(node);
  joins_.Drop(session);
  DropDerivedTeamJoins(session);
  const std::set<TeamId> teams = node.teams;
  for (const TeamId id : teams) {
    Team* team = TeamOf(id);
    if (team != nullptr && team->change.has_value()) {
      AbortChange(*team,
                  {Failure::kMemberLost, absl::StrCat("node ", name, " lost its connection to the planner"),
                   FailureCause::kNoPlanner, name},
                  /*again=*/true);
    }
  }
  NodeSilent(name);
}

void Coordinator::NodeAway(Node& node) {
  node.away_since = clock_->Now();
  CollectLater();
}

void Coordinator::NodeGone(Node& node, const FailureReport& why) {
  COPSE_LOG(kWarning, why.text, "; teams: ", node.teams.size());
  events_.Note(clock_->Now(), absl::StrCat("node ", node.announcement.name), "lost", why.text);
  const std::set<TeamId> teams = std::exchange(node.teams, {});
  const schedule::NodeAnnouncement announcement = node.announcement;
  for (const TeamId id : teams) {
    Team* team = TeamOf(id);
    if (team == nullptr) continue;
    const std::optional<uint32_t> member = MemberIndex(*team, announcement);
    if (!member.has_value()) continue;
    team->members.MarkGone(*member);
    // A node that had left does not break the team for its remaining members.
    if (!team->members[*member].left) Break(*team, why);
    team = TeamOf(id);
    if (team == nullptr) continue;
    SettlePrepared(*team);
    BreakIfUntold(*team);
    MaybeEnd(*team);
  }
}

void Coordinator::OnStopping(SessionId session, const schedule::Stopping& message) {
  const std::string name = sessions_.at(session).node;
  Node& node = nodes_.at(name);
  if (!message.done) {
    COPSE_LOG(kInfo, "node ", name, " takes no new teams: its daemon stops");
    node.stopping = true;
    events_.Note(clock_->Now(), absl::StrCat("node ", name), "draining", "its daemon stops");
    return;
  }
  const FailureReport why{Failure::kMemberLost, absl::StrCat("node ", name, " stopped"), FailureCause::kDaemonGone,
                          name};
  StreamEnded(session);
  NodeGone(node, why);
  nodes_.erase(name);
}

absl::Status Coordinator::RemoveNode(const std::string& name) {
  const auto it = nodes_.find(name);
  if (it == nodes_.end()) return absl::NotFoundError(absl::StrCat("node ", name, ": not known"));
  Node& node = it->second;
  if (node.session != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("node ", name, ": is connected, from ", node.from, ": stop its daemon first"));
  }
  if (drain_changes_.count(name) != 0) {
    SetDraining(name, std::nullopt, [](const absl::Status&) {});
  } else if (draining_.erase(name) != 0) {
    outbox_.Record(PutDraining{name, false});
  }
  NodeGone(node, {Failure::kMemberLost, absl::StrCat("node ", name, " lost: removed by an administrator"),
                  FailureCause::kNodeRemoved, name});
  nodes_.erase(name);
  return absl::OkStatus();
}

void Coordinator::NoteLost(const std::string& name, Incarnation incarnation) {
  const auto it = nodes_.find(name);
  if (it == nodes_.end() || it->second.announcement.incarnation != incarnation) return;
  it->second.lost_at = clock_->Now();
}

void Coordinator::CollectLater() {
  if (std::exchange(collects_, true)) return;
  timers_.Set(clock_->Now() + options_.forget_records / 4, [this] {
    collects_ = false;
    Collect();
  });
}

bool Coordinator::MayComeBack(const Team& team) const {
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    const Member& member = team.members[i];
    if (!member.left && !member.gone && LiveNode(team.record.layout.nodes[i]) == nullptr) return true;
  }
  return false;
}

bool Coordinator::IsAbandoned(const Team& team) const {
  const absl::Time since = clock_->Now() - options_.forget_records;
  // A planner that started later than that does not know for how long members were away before.
  if (started_ > since) return false;
  for (uint32_t i = 0; i < team.node_count(); ++i) {
    if (team.members[i].left || team.members[i].gone) continue;
    const schedule::TeamNode& member = team.record.layout.nodes[i];
    const auto it = nodes_.find(member.name);
    const bool has_name = it != nodes_.end() && it->second.announcement.incarnation == member.incarnation;
    const absl::Time away_since = has_name ? it->second.away_since : team.nameless_since;
    if (LiveNode(member) != nullptr || away_since > since) return false;
  }
  return true;
}

void Coordinator::DropRecord(TeamId id) {
  const Team& team = teams_.at(id);
  COPSE_LOG(kInfo, "team ", id.value(), " (", schedule::DescribeTeam(team.record.layout.identity),
            "): all its nodes are away for ", absl::FormatDuration(options_.forget_records), ": its record is dropped");
  if (team.durable()) outbox_.Record(DropTeam{id});
  Forget(id, /*has_ended=*/false);
}

void Coordinator::Collect() {
  std::vector<TeamId> abandoned;
  bool again = false;
  for (const auto& [id, team] : teams_) {
    if (!MayComeBack(team)) continue;
    if (IsAbandoned(team)) {
      abandoned.push_back(id);
    } else {
      again = true;
    }
  }
  for (const TeamId id : abandoned) {
    if (teams_.count(id) != 0) DropRecord(id);
  }
  SettleUndecided();
  again |= !undecided_.empty();
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const Node& node = it->second;
    const auto current = it++;
    if (node.session != 0) continue;
    again = true;
    if (!node.teams.empty() || draining_.count(current->first) != 0) continue;
    if (clock_->Now() - node.away_since < options_.forget_nodes) continue;
    COPSE_LOG(kInfo, "node ", current->first, " is away for ", absl::FormatDuration(options_.forget_nodes),
              ": it is forgotten");
    nodes_.erase(current);
  }
  if (again) CollectLater();
}

}  // namespace copse::coordinator
