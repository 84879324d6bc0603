// SPDX-License-Identifier: Apache-2.0
//
// Derived teams: plans of a team for collectives beyond the common ones, made when a daemon requests
// them. They form, switch epochs and end by the rules of teams (teams.cc); this file has the differences.
//
// All nodes must agree on which attempts failed, since each failed attempt fails one call of every rank. So attempts
// are numbered: a node does not prepare an attempt that it has counted as failed, and a coordinator that knows of fewer
// failed attempts than a daemon adopts the daemon's count.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "planner/coordinator/coordinator.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// While a node is not connected, has not reported its part of the parent, or ids are held back, forming a derived team
// is tried at this interval.
constexpr absl::Duration kFormAgain = absl::Milliseconds(100);

}  // namespace

// Returns the reason for which the join is refused, or nullopt if the parent team's daemon may send it.
std::optional<FailureReport> Coordinator::DerivedTeamRefusal(const Join& join) {
  const schedule::JoinTeam& message = join.message;
  const Team* team = TeamOf(message.parent);
  const std::string name = absl::StrCat("team ", message.parent.value());
  if (team == nullptr || team->record.epoch == EpochId{0}) {
    return FailureReport{Failure::kInvalidArgument, absl::StrCat(name, " is not known")};
  }
  if (team->record.broken) {
    FailureReport why = team->record.why;
    why.failure = Failure::kMemberLost;
    why.text = absl::StrCat(name, " is broken: ", why.text);
    return why;
  }
  const schedule::TeamLayout& layout = team->record.layout;
  const std::optional<uint32_t> member = MemberIndex(*team, nodes_.at(join.node).announcement);
  if (!member.has_value()) {
    return FailureReport{Failure::kInvalidArgument, absl::StrCat(name, " has no rank on node ", join.node)};
  }
  const schedule::TeamIdentity& mine = layout.identity;
  const schedule::TeamIdentity& its = message.identity;
  if (schedule::IsDerivedTeam(mine) || its.uid != mine.uid || its.job != mine.job || its.name != mine.name) {
    return FailureReport{Failure::kInvalidArgument,
                         absl::StrCat(name, " cannot have it as a derived team: ", schedule::DescribeTeam(its))};
  }
  if (message.size != layout.shape.size() || message.rank.value() >= message.size ||
      layout.shape.node_of_rank[message.rank.value()] != NodeIndex{*member}) {
    return FailureReport{Failure::kInvalidArgument,
                         absl::StrCat(name, " has another rank on node ", join.node, " (rank=", message.rank.value(),
                                      ", size=", message.size, ")")};
  }
  return std::nullopt;
}

void Coordinator::OnDerivedTeamJoin(Join join) {
  if (const std::optional<FailureReport> refusal = DerivedTeamRefusal(join)) return FailJoins({join}, *refusal);
  const DerivedTeamKey key{join.message.parent, join.message.identity.family};
  DerivedTeam& derived = derived_teams_[key];
  if (derived.id != TeamId{0}) {
    Team& team = teams_.at(derived.id);
    // If the derived team is decided, the Commit that was sent answers this join.
    if (team.record.epoch == EpochId{0}) team.change->joins.push_back(std::move(join));
    return;
  }
  if (join.message.identity.nonce < derived.failed) return FailJoins({join}, derived.why);
  if (join.message.identity.nonce > derived.failed) {
    derived.failed = join.message.identity.nonce;
    derived.why = join.message.last_failure;
  }
  derived.waiting.push_back(std::move(join));
  FormDerivedTeam(key);
}

void Coordinator::FormDerivedTeam(const DerivedTeamKey& key) {
  DerivedTeam& derived = derived_teams_.at(key);
  timers_.Cancel(derived.timer);
  const Team& parent = teams_.at(key.first);
  for (uint32_t i = 0; i < parent.node_count(); ++i) {
    const schedule::TeamNode& member = parent.record.layout.nodes[i];
    if (parent.members[i].left) {
      return FailDerivedTeam(key, {Failure::kMemberLost, absl::StrCat("node ", member.name, " has left the team"),
                                   FailureCause::kMemberLeft, member.name});
    }
    const Node* node = LiveNode(member);
    if (node == nullptr || settles() || MayBeForming(parent, i)) {
      derived.timer = timers_.Set(clock_->Now() + kFormAgain, [this, key] { FormDerivedTeam(key); });
      return;
    }
    if (!node->announcement.features.contains(schedule::Feature::kDerivedTeams)) {
      return FailDerivedTeam(
          key, {Failure::kVersion, absl::StrCat("node ", member.name, ": its daemon knows no derived teams"),
                FailureCause::kVersionsDiffer, member.name});
    }
  }
  absl::StatusOr<schedule::TeamLayout> layout = DerivedTeamLayout(parent.record.layout, key);
  if (!layout.ok()) return FailDerivedTeam(key, schedule::ReportOf(layout.status()));
  derived.id = layout->id;
  StartFirstEpoch(*std::move(layout), std::exchange(derived.waiting, {}));
}

absl::StatusOr<schedule::TeamLayout> Coordinator::DerivedTeamLayout(const schedule::TeamLayout& parent,
                                                                    const DerivedTeamKey& key) {
  schedule::TeamLayout layout = parent;
  layout.parent = parent.id;
  ASSIGN_OR_RETURN(layout.id, ids_->NextTeam());
  layout.identity.family = key.second;
  layout.identity.nonce = derived_teams_.at(key).failed;
  return layout;
}

void Coordinator::FailDerivedTeam(const DerivedTeamKey& key, const FailureReport& why) {
  DerivedTeam& derived = derived_teams_.at(key);
  timers_.Cancel(derived.timer);
  ++derived.failed;
  derived.why = why;
  FailJoins(std::exchange(derived.waiting, {}), why);
}

void Coordinator::DerivedTeamAborted(const schedule::TeamLayout& layout, const FailureReport& why, bool again,
                                     std::vector<Join> unprepared) {
  const auto it = derived_teams_.find({layout.parent, layout.identity.family});
  if (it == derived_teams_.end()) return;
  if (again) {
    for (Join& join : unprepared) {
      const auto session = sessions_.find(join.session);
      if (session == sessions_.end() || session->second.node.empty()) continue;  // its daemon sends it again
      session->second.requests.insert(join.message.request);
      it->second.waiting.push_back(std::move(join));
    }
    if (!it->second.waiting.empty()) FormDerivedTeam(it->first);
    return;
  }
  it->second.failed = layout.identity.nonce + 1;
  it->second.why = why;
}

void Coordinator::NoteDerivedTeam(const schedule::TeamLayout& layout) {
  if (!schedule::IsDerivedTeam(layout.identity)) return;
  DerivedTeam& derived = derived_teams_[{layout.parent, layout.identity.family}];
  derived.id = layout.id;
  derived.failed = layout.identity.nonce;
}

void Coordinator::DropDerivedTeamJoins(SessionId session) {
  for (auto& [key, derived] : derived_teams_) {
    std::vector<Join>& waiting = derived.waiting;
    waiting.erase(
        std::remove_if(waiting.begin(), waiting.end(), [&](const Join& join) { return join.session == session; }),
        waiting.end());
    if (waiting.empty()) timers_.Cancel(derived.timer);
  }
}

std::vector<TeamId> Coordinator::DerivedTeamsOf(TeamId team) const {
  std::vector<TeamId> found;
  for (auto it = derived_teams_.lower_bound({team, Family::kCommon});
       it != derived_teams_.end() && it->first.first == team; ++it) {
    if (it->second.id != TeamId{0}) found.push_back(it->second.id);
  }
  return found;
}

void Coordinator::ForgetDerivedTeams(const schedule::TeamLayout& layout) {
  if (schedule::IsDerivedTeam(layout.identity)) {
    const auto it = derived_teams_.find({layout.parent, layout.identity.family});
    if (it == derived_teams_.end() || it->second.id != layout.id) return;
    it->second.id = TeamId{0};
    if (TeamOf(layout.parent) == nullptr) derived_teams_.erase(it);
    return;
  }
  for (auto it = derived_teams_.lower_bound({layout.id, Family::kCommon});
       it != derived_teams_.end() && it->first.first == layout.id; it = derived_teams_.erase(it)) {
    timers_.Cancel(it->second.timer);
    if (!it->second.waiting.empty()) {
      FailJoins(it->second.waiting, {Failure::kMemberLost, absl::StrCat("team ", layout.id.value(), " has ended")});
    }
  }
}

void Coordinator::BreakLinked(const schedule::TeamLayout& layout, const FailureReport& why, const Node* reporter) {
  if (schedule::IsDerivedTeam(layout.identity)) {
    if (Team* team = TeamOf(layout.parent)) Break(*team, why, reporter);
    return;
  }
  for (const TeamId id : DerivedTeamsOf(layout.id)) {
    if (Team* derived = TeamOf(id)) Break(*derived, why, reporter);
  }
  for (int f = 0; f < kFamilyCount; ++f) {
    const DerivedTeamKey key{layout.id, static_cast<Family>(f)};
    const auto it = derived_teams_.find(key);
    if (it != derived_teams_.end() && !it->second.waiting.empty()) FailDerivedTeam(key, why);
  }
}

}  // namespace copse::coordinator
