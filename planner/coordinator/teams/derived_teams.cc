// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/teams/derived_teams.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// While a node is not connected, has not reported its part of the parent, or ids are held back, forming a derived team
// is tried at this interval.
constexpr absl::Duration kFormAgain = absl::Milliseconds(100);

}  // namespace

std::optional<FailureReport> DerivedTeams::Refusal(const Join& join) const {
  const schedule::JoinTeam& message = join.message;
  const Team* team = state_->teams.Find(message.parent);
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
  const std::optional<uint32_t> member = team->MemberOf(state_->nodes.At(join.node).announcement);
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

void DerivedTeams::OnJoin(Join join) {
  if (const std::optional<FailureReport> refusal = Refusal(join)) return state_->FailJoins({join}, *refusal);
  const Key key{join.message.parent, join.message.identity.family};
  DerivedTeam& derived = derived_[key];
  if (derived.id != TeamId{0}) {
    Team& team = state_->teams.At(derived.id);
    // If the derived team is decided, the Commit that was sent answers this join.
    if (team.record.epoch == EpochId{0}) team.change->joins.push_back(std::move(join));
    return;
  }
  if (join.message.identity.nonce < derived.failed) return state_->FailJoins({join}, derived.why);
  if (join.message.identity.nonce > derived.failed) {
    derived.failed = join.message.identity.nonce;
    derived.why = join.message.last_failure;
  }
  derived.waiting.push_back(std::move(join));
  Form(key);
}

void DerivedTeams::Form(const Key& key) {
  DerivedTeam& derived = derived_.at(key);
  state_->timers.Cancel(derived.timer);
  const Team& parent = state_->teams.At(key.first);
  for (uint32_t i = 0; i < parent.node_count(); ++i) {
    const schedule::TeamNode& member = parent.record.layout.nodes[i];
    if (parent.members[i].left) {
      return Fail(key, {Failure::kMemberLost, absl::StrCat("node ", member.name, " has left the team"),
                        FailureCause::kMemberLeft, member.name});
    }
    const Node* node = state_->nodes.Live(member);
    if (node == nullptr || state_->settles() || parent.MayBeForming(i)) {
      derived.timer = state_->timers.Set(state_->Now() + kFormAgain, [this, key] { Form(key); });
      return;
    }
    if (!node->announcement.features.contains(schedule::Feature::kDerivedTeams)) {
      return Fail(key, {Failure::kVersion, absl::StrCat("node ", member.name, ": its daemon knows no derived teams"),
                        FailureCause::kVersionsDiffer, member.name});
    }
  }
  absl::StatusOr<schedule::TeamLayout> layout = MakeLayout(parent.record.layout, key);
  if (!layout.ok()) return Fail(key, schedule::ReportOf(layout.status()));
  derived.id = layout->id;
  epochs_->StartFirstEpoch(*std::move(layout), std::exchange(derived.waiting, {}), derived.why);
}

absl::StatusOr<schedule::TeamLayout> DerivedTeams::MakeLayout(const schedule::TeamLayout& parent, const Key& key) {
  schedule::TeamLayout layout = parent;
  layout.parent = parent.id;
  ASSIGN_OR_RETURN(layout.id, state_->ids->NextTeam());
  layout.identity.family = key.second;
  layout.identity.nonce = derived_.at(key).failed;
  return layout;
}

void DerivedTeams::Fail(const Key& key, const FailureReport& why) {
  DerivedTeam& derived = derived_.at(key);
  state_->timers.Cancel(derived.timer);
  ++derived.failed;
  derived.why = why;
  state_->FailJoins(std::exchange(derived.waiting, {}), why);
}

void DerivedTeams::OnAborted(const schedule::TeamLayout& layout, const FailureReport& why, bool again,
                             std::vector<Join> unprepared) {
  const auto it = derived_.find({layout.parent, layout.identity.family});
  if (it == derived_.end()) return;
  if (again) {
    for (Join& join : unprepared) {
      Session* session = state_->nodes.FindSession(join.session);
      if (session == nullptr || session->node.empty()) continue;  // its daemon sends it again
      session->requests.insert(join.message.request);
      it->second.waiting.push_back(std::move(join));
    }
    if (!it->second.waiting.empty()) Form(it->first);
    return;
  }
  it->second.failed = layout.identity.nonce + 1;
  it->second.why = why;
}

void DerivedTeams::Note(const schedule::TeamLayout& layout) {
  if (!schedule::IsDerivedTeam(layout.identity)) return;
  DerivedTeam& derived = derived_[{layout.parent, layout.identity.family}];
  derived.id = layout.id;
  derived.failed = layout.identity.nonce;
}

void DerivedTeams::Drop(SessionId session) {
  for (auto& [key, derived] : derived_) {
    std::vector<Join>& waiting = derived.waiting;
    waiting.erase(
        std::remove_if(waiting.begin(), waiting.end(), [&](const Join& join) { return join.session == session; }),
        waiting.end());
    if (waiting.empty()) state_->timers.Cancel(derived.timer);
  }
}

std::vector<TeamId> DerivedTeams::IdsOf(TeamId team) const {
  std::vector<TeamId> found;
  for (auto it = derived_.lower_bound({team, Family::kCommon}); it != derived_.end() && it->first.first == team; ++it) {
    if (it->second.id != TeamId{0}) found.push_back(it->second.id);
  }
  return found;
}

void DerivedTeams::OnForgotten(const schedule::TeamLayout& layout) {
  if (schedule::IsDerivedTeam(layout.identity)) {
    const auto it = derived_.find({layout.parent, layout.identity.family});
    if (it == derived_.end() || it->second.id != layout.id) return;
    it->second.id = TeamId{0};
    if (state_->teams.Find(layout.parent) == nullptr) derived_.erase(it);
    return;
  }
  for (auto it = derived_.lower_bound({layout.id, Family::kCommon});
       it != derived_.end() && it->first.first == layout.id; it = derived_.erase(it)) {
    state_->timers.Cancel(it->second.timer);
    if (!it->second.waiting.empty()) {
      state_->FailJoins(it->second.waiting,
                        {Failure::kMemberLost, absl::StrCat("team ", layout.id.value(), " has ended")});
    }
  }
}

void DerivedTeams::OnBroken(const schedule::TeamLayout& layout, const FailureReport& why, const Node* reporter) {
  if (schedule::IsDerivedTeam(layout.identity)) {
    if (Team* team = state_->teams.Find(layout.parent)) ends_->Break(*team, why, reporter);
    return;
  }
  for (const TeamId id : IdsOf(layout.id)) {
    if (Team* derived = state_->teams.Find(id)) ends_->Break(*derived, why, reporter);
  }
  for (int f = 0; f < kFamilyCount; ++f) {
    const Key key{layout.id, static_cast<Family>(f)};
    const auto it = derived_.find(key);
    if (it != derived_.end() && !it->second.waiting.empty()) Fail(key, why);
  }
}

void DerivedTeams::OnMemberLeft(TeamId team, uint32_t member) {
  for (const TeamId id : IdsOf(team)) {
    Team* derived = state_->teams.Find(id);
    if (derived != nullptr && !derived->members[member].left) ends_->MarkLeft(*derived, member);
  }
}

void DerivedTeams::FormThoseOf(TeamId parent) {
  for (auto it = derived_.lower_bound({parent, Family::kCommon}); it != derived_.end() && it->first.first == parent;) {
    const auto current = it++;
    if (!current->second.waiting.empty()) Form(current->first);
  }
}

std::optional<TeamId> DerivedTeams::Find(TeamId team, Family family) const {
  const auto it = derived_.find({team, family});
  if (it == derived_.end() || it->second.id == TeamId{0}) return std::nullopt;
  return it->second.id;
}

}  // namespace copse::coordinator
