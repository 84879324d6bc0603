// SPDX-License-Identifier: Apache-2.0
//
// Companions are derived teams: plans of a team for collectives beyond the common ones, made when a daemon requests
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
#include "planner/coordinator/coordinator_impl.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// Interval between attempts to form a derived team while a node is not connected, or ids are held back.
constexpr absl::Duration kFormAgain = absl::Milliseconds(100);

}  // namespace

// Returns the reason for which the join is refused, or nullopt if the parent team's daemon may send it.
std::optional<FailureReport> Coordinator::Impl::CompanionRefusal(const Join& join) {
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
  if (schedule::IsCompanion(mine) || its.uid != mine.uid || its.job != mine.job || its.name != mine.name) {
    return FailureReport{Failure::kInvalidArgument,
                         absl::StrCat(name, " cannot have it as a companion: ", schedule::DescribeTeam(its))};
  }
  if (message.size != layout.shape.size() || message.rank.value() >= message.size ||
      layout.shape.node_of_rank[message.rank.value()] != NodeIndex{*member}) {
    return FailureReport{Failure::kInvalidArgument,
                         absl::StrCat(name, " has another rank on node ", join.node, " (rank=", message.rank.value(),
                                      ", size=", message.size, ")")};
  }
  return std::nullopt;
}

void Coordinator::Impl::OnCompanionJoin(Join join) {
  if (const std::optional<FailureReport> refusal = CompanionRefusal(join)) return FailJoins({join}, *refusal);
  const CompanionKey key{join.message.parent, join.message.identity.family};
  Companion& companion = companions_[key];
  if (companion.id != TeamId{0}) {
    Team& team = teams_.at(companion.id);
    // If the derived team is decided, the Commit that was sent answers this join.
    if (team.record.epoch == EpochId{0}) team.change->joins.push_back(std::move(join));
    return;
  }
  if (join.message.identity.nonce < companion.failed) return FailJoins({join}, companion.why);
  if (join.message.identity.nonce > companion.failed) {
    companion.failed = join.message.identity.nonce;
    companion.why = join.message.last_failure;
  }
  companion.waiting.push_back(std::move(join));
  FormCompanion(key);
}

void Coordinator::Impl::FormCompanion(const CompanionKey& key) {
  Companion& companion = companions_.at(key);
  timers_.Cancel(companion.timer);
  const Team& parent = teams_.at(key.first);
  for (uint32_t i = 0; i < parent.node_count(); ++i) {
    const schedule::TeamNode& member = parent.record.layout.nodes[i];
    if (parent.members[i].left) {
      return FailCompanion(key, {Failure::kMemberLost, absl::StrCat("node ", member.name, " has left the team"),
                                 FailureCause::kMemberLeft, member.name});
    }
    const Node* node = LiveNode(member);
    if (node == nullptr || settles()) {
      companion.timer = timers_.Set(clock_->Now() + kFormAgain, [this, key] { FormCompanion(key); });
      return;
    }
    if (!node->announcement.features.contains(schedule::Feature::kCompanions)) {
      return FailCompanion(key,
                           {Failure::kVersion, absl::StrCat("node ", member.name, ": its daemon knows no companions"),
                            FailureCause::kVersionsDiffer, member.name});
    }
  }
  absl::StatusOr<schedule::TeamLayout> layout = CompanionLayout(parent.record.layout, key);
  if (!layout.ok()) return FailCompanion(key, schedule::ReportOf(layout.status()));
  absl::StatusOr<std::vector<std::string>> plans = MakePlans(*layout, PlanOptions{});
  if (!plans.ok()) return FailCompanion(key, schedule::ReportOf(plans.status()));
  companion.id = layout->id;
  Change change;
  change.plans = *std::move(plans);
  change.joins = std::exchange(companion.waiting, {});
  StartFirstEpoch(*std::move(layout), std::move(change));
}

absl::StatusOr<schedule::TeamLayout> Coordinator::Impl::CompanionLayout(const schedule::TeamLayout& parent,
                                                                        const CompanionKey& key) {
  schedule::TeamLayout layout = parent;
  layout.parent = parent.id;
  ASSIGN_OR_RETURN(layout.id, ids_->NextTeam());
  layout.identity.family = key.second;
  layout.identity.nonce = companions_.at(key).failed;
  return layout;
}

void Coordinator::Impl::FailCompanion(const CompanionKey& key, const FailureReport& why) {
  Companion& companion = companions_.at(key);
  timers_.Cancel(companion.timer);
  ++companion.failed;
  companion.why = why;
  FailJoins(std::exchange(companion.waiting, {}), why);
}

void Coordinator::Impl::CompanionAborted(const schedule::TeamLayout& layout, const FailureReport& why, bool again) {
  const auto it = companions_.find({layout.parent, layout.identity.family});
  if (it == companions_.end() || again) return;
  it->second.failed = layout.identity.nonce + 1;
  it->second.why = why;
}

void Coordinator::Impl::NoteCompanion(const schedule::TeamLayout& layout) {
  if (!schedule::IsCompanion(layout.identity)) return;
  Companion& companion = companions_[{layout.parent, layout.identity.family}];
  companion.id = layout.id;
  companion.failed = layout.identity.nonce;
}

void Coordinator::Impl::DropCompanionJoins(SessionId session) {
  for (auto& [key, companion] : companions_) {
    std::vector<Join>& waiting = companion.waiting;
    waiting.erase(
        std::remove_if(waiting.begin(), waiting.end(), [&](const Join& join) { return join.session == session; }),
        waiting.end());
    if (waiting.empty()) timers_.Cancel(companion.timer);
  }
}

std::vector<TeamId> Coordinator::Impl::CompanionsOf(TeamId team) const {
  std::vector<TeamId> found;
  for (auto it = companions_.lower_bound({team, Family::kCommon}); it != companions_.end() && it->first.first == team;
       ++it) {
    if (it->second.id != TeamId{0}) found.push_back(it->second.id);
  }
  return found;
}

void Coordinator::Impl::ForgetCompanions(const schedule::TeamLayout& layout) {
  if (schedule::IsCompanion(layout.identity)) {
    const auto it = companions_.find({layout.parent, layout.identity.family});
    if (it == companions_.end() || it->second.id != layout.id) return;
    it->second.id = TeamId{0};
    if (TeamOf(layout.parent) == nullptr) companions_.erase(it);
    return;
  }
  for (auto it = companions_.lower_bound({layout.id, Family::kCommon});
       it != companions_.end() && it->first.first == layout.id; it = companions_.erase(it)) {
    timers_.Cancel(it->second.timer);
    if (!it->second.waiting.empty()) {
      FailJoins(it->second.waiting, {Failure::kMemberLost, absl::StrCat("team ", layout.id.value(), " has ended")});
    }
  }
}

void Coordinator::Impl::BreakLinked(const schedule::TeamLayout& layout, const FailureReport& why,
                                    const Node* reporter) {
  if (schedule::IsCompanion(layout.identity)) {
    if (Team* team = TeamOf(layout.parent)) Break(*team, why, reporter);
    return;
  }
  for (const TeamId id : CompanionsOf(layout.id)) {
    if (Team* companion = TeamOf(id)) Break(*companion, why, reporter);
  }
  for (int f = 0; f < kFamilyCount; ++f) {
    const CompanionKey key{layout.id, static_cast<Family>(f)};
    const auto it = companions_.find(key);
    if (it != companions_.end() && !it->second.waiting.empty()) FailCompanion(key, why);
  }
}

}  // namespace copse::coordinator
