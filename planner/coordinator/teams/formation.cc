// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/teams/formation.h"

#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::coordinator {
namespace {

using schedule::Failure;
using schedule::FailureReport;

// While commits have failed for so long, joins are refused instead of waiting.
constexpr absl::Duration kStorePatience = absl::Seconds(5);

}  // namespace

void Formation::Tick(absl::Time heard) {
  if (!state_->settles()) {
    for (Gathered& complete : joins_.Release()) Act(std::move(complete));
  }
  for (Gathered& late : joins_.TakeLate(heard)) Act(std::move(late));
  ticked_ = heard;
}

void Formation::Settle() {
  if (state_->Now() - state_->started >= kSettle) return;
  state_->settled_at = state_->started + kSettle;
  joins_.Hold();
}

std::vector<Join> Formation::NewJoins(SessionId session, const schedule::JoinTeam& message) {
  Session& sender = state_->nodes.SessionOf(session);
  std::vector<Join> joins;
  const auto add = [&](uint64_t request, Rank rank) {
    if (!sender.requests.insert(request).second) return;
    Join& join = joins.emplace_back(Join{session, sender.node, {}});
    join.message = {.request = request,
                    .identity = message.identity,
                    .parent = message.parent,
                    .rank = rank,
                    .size = message.size,
                    .last_failure = message.last_failure};
  };
  joins.reserve(1 + message.more.size());
  add(message.request, message.rank);
  for (const auto& [request, rank] : message.more) add(request, rank);
  return joins;
}

void Formation::OnJoin(SessionId session, const schedule::JoinTeam& message) {
  std::vector<Join> joins = NewJoins(session, message);
  if (joins.empty()) return;
  const Join& first = joins.front();
  const bool is_derived = schedule::IsDerivedTeam(message.identity);
  if (state_->nodes.SessionOf(session).requests.size() > kRequestsMax) {
    schedule::FailureReport why{Failure::kNoResource,
                                absl::StrCat("too many joins of node ", first.node, " wait (limit=", kRequestsMax, ")"),
                                FailureCause::kQuota, first.node, first.message.rank};
    why.limit = kRequestsMax;
    if (is_derived) return state_->FailJoins(joins, why);
    return Act(joins_.Refuse(std::move(joins), std::move(why)));
  }
  if (is_derived) return derived_->OnJoin(std::move(joins.front()));
  if (std::optional<FailureReport> refusal = Refusal(first)) {
    return Act(joins_.Refuse(std::move(joins), *std::move(refusal)));
  }
  Act(joins_.Add(std::move(joins), state_->Now(), state_->options.team_formation_timeout));
}

std::optional<FailureReport> Formation::Refusal(const Join& join) const {
  if (state_->nodes.At(join.node).stopping || state_->drains.Has(join.node)) {
    return FailureReport{Failure::kNoResource, absl::StrCat("node ", join.node, " is draining"),
                         FailureCause::kNodeDraining, join.node, join.message.rank};
  }
  if (join.message.parent != TeamId{0}) return ParentRefusal(join);
  const CommitQueue& commits = state_->outbox.commits();
  if (commits.failing_for() > kStorePatience) return NotRecorded(commits.outcomes().error());
  return std::nullopt;
}

std::optional<FailureReport> Formation::ParentRefusal(const Join& join) const {
  const Team* parent = state_->teams.Find(join.message.parent);
  const std::string name = absl::StrCat("parent team ", join.message.parent.value());
  const auto refusal = [&](const std::string& text) {
    return FailureReport{Failure::kInvalidArgument, text, FailureCause::kBadArgument, join.node, join.message.rank};
  };
  if (parent == nullptr || parent->record.epoch == EpochId{0}) return refusal(absl::StrCat(name, " is not known"));
  if (parent->record.broken) {
    FailureReport why = parent->record.why;
    why.failure = Failure::kMemberLost;
    why.text = absl::StrCat(name, " is broken: ", why.text);
    return why;
  }
  if (!parent->MemberOf(state_->nodes.At(join.node).announcement).has_value()) {
    return refusal(absl::StrCat(name, " has no rank on node ", join.node));
  }
  return std::nullopt;
}

void Formation::OnCancelJoin(SessionId session, const schedule::CancelJoin& message) {
  Gathered gathered = joins_.Cancel(session, message.request, message.why);
  if (gathered.state == Gathered::State::kFailed) return Act(std::move(gathered));
  for (const TeamId id : state_->nodes.At(state_->nodes.SessionOf(session).node).teams) {
    Team& team = state_->teams.At(id);
    if (!team.change.has_value()) continue;
    for (const Join& join : team.change->joins) {
      if (join.session != session || join.message.request != message.request) continue;
      return epochs_->AbortChange(team, WentAway(join, message.why));
    }
  }
}

void Formation::Act(Gathered gathered) {
  switch (gathered.state) {
    case Gathered::State::kWaiting:
      return;
    case Gathered::State::kComplete:
      return Form(std::move(gathered.joins));
    case Gathered::State::kFailed:
      return state_->FailJoins(gathered.joins, gathered.why);
  }
}

void Formation::Form(std::vector<Join> joins) {
  absl::StatusOr<schedule::TeamLayout> layout = MakeLayout(joins);
  if (!layout.ok()) return state_->FailJoins(joins, schedule::ReportOf(layout.status()));
  epochs_->StartFirstEpoch(*std::move(layout), std::move(joins));
}

absl::StatusOr<schedule::TeamLayout> Formation::MakeLayout(const std::vector<Join>& joins) {
  schedule::TeamLayout layout;
  layout.identity = joins[0].message.identity;
  layout.parent = joins[0].message.parent;
  layout.window = state_->options.window;
  std::map<std::string, uint32_t> index_of;
  std::vector<uint32_t> ranks;  // by node
  for (const Join& join : joins) {
    const auto [it, is_new] = index_of.emplace(join.node, static_cast<uint32_t>(layout.nodes.size()));
    if (is_new) {
      const schedule::NodeAnnouncement& node = state_->nodes.At(join.node).announcement;
      layout.nodes.push_back({node.name, node.incarnation, node.worker_address});
      ranks.push_back(0);
    }
    if (++ranks[it->second] > schedule::kLocalRanksMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("node ", join.node, ": more than ", schedule::kLocalRanksMax, " ranks of one team"));
    }
    layout.shape.node_of_rank.push_back(NodeIndex{it->second});
  }
  layout.shape.node_count = static_cast<uint32_t>(layout.nodes.size());
  ASSIGN_OR_RETURN(layout.id, state_->ids->NextTeam());
  return layout;
}

}  // namespace copse::coordinator
