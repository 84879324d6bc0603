// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/derived_teams.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"
#include "schedule/folds.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

bool DerivedTeams::Derived::HasWaiting() const {
  return std::any_of(members.begin(), members.end(), [](const auto& entry) { return !entry.second.waiting.empty(); });
}

void DerivedTeams::Notify(const Key& key, Rank rank, uint64_t value, const FailureReport& why) {
  const Team* team = teams_->Find(key.first);
  const std::optional<ClientId> client = team == nullptr ? std::nullopt : team->members().ClientOf(rank);
  if (!client) return;
  if (parts_->options->instruments != nullptr) parts_->options->instruments->PostRefused();
  parts_->clients->Notify(*client, {.value = value, .failure = why});
}

void DerivedTeams::Post(Team* team, Rank rank, CallPost&& post, uint32_t pending_max) {
  const Key key{team->id(), schedule::FamilyOfCall(post.arguments)};
  Derived& derived = derived_[key];
  RankState& state = derived.members[rank];
  if (state.failed < derived.failed) {
    ++state.failed;
    return Notify(key, rank, post.value, derived.why);
  }
  if (derived.committed) return teams_->Find(derived.id)->Post(rank, std::move(post), pending_max);
  if (state.waiting.size() >= pending_max) {
    return Notify(
        key, rank, post.value,
        {Failure::kNoResource,
         absl::StrCat("team ", DescribeTeam(team->layout().identity), ": rank ", rank.value(),
                      " has too many calls waiting (calls=", state.waiting.size() + 1, ", limit=", pending_max, ")"),
         FailureCause::kQuota, "", rank, pending_max});
  }
  post.posted = parts_->clock->Now();
  state.waiting.push_back(std::move(post));
  Ask(key, &derived);
}

bool DerivedTeams::HasRoom(const Team& team, Family family, Rank rank, uint32_t pending_max) const {
  const auto it = derived_.find({team.id(), family});
  if (it == derived_.end()) return pending_max > 0;
  const Derived& derived = it->second;
  const auto state = derived.members.find(rank);
  if (state != derived.members.end() && state->second.failed < derived.failed) return true;  // the call fails at once
  if (derived.committed) return teams_->Find(derived.id)->HasRoom(rank, pending_max);
  return state == derived.members.end() || state->second.waiting.size() < pending_max;
}

bool DerivedTeams::HasCallWaiting(TeamId team, Rank rank) const {
  for (auto it = derived_.lower_bound({team, Family::kCommon}); it != derived_.end() && it->first.first == team; ++it) {
    const auto state = it->second.members.find(rank);
    if (state != it->second.members.end() && !state->second.waiting.empty()) return true;
  }
  return false;
}

bool DerivedTeams::HasCallWaiting() const {
  return std::any_of(derived_.begin(), derived_.end(), [](const auto& entry) { return entry.second.HasWaiting(); });
}

// --- Formation ---

void DerivedTeams::Ask(const Key& key, Derived* derived) {
  if (derived->id != TeamId{0} || derived->request != 0) return;
  if (!parts_->planner->registered()) return;
  if (!parts_->planner->Has(schedule::Feature::kDerivedTeams)) {
    while (derived->HasWaiting()) {
      Fail(key, derived, derived->failed + 1,
           {Failure::kVersion,
            absl::StrCat("the planner is too old for collectives of the family ", AbslView(FamilyName(key.second)))});
    }
    return;
  }
  const auto first = std::find_if(derived->members.begin(), derived->members.end(),
                                  [](const auto& entry) { return !entry.second.waiting.empty(); });
  if (first == derived->members.end()) return;
  const schedule::TeamLayout& layout = teams_->Find(key.first)->layout();
  schedule::JoinTeam join{.identity = layout.identity, .parent = layout.id, .rank = first->first};
  join.identity.family = key.second;
  join.identity.nonce = derived->failed;
  join.size = layout.shape.size();
  join.last_failure = derived->why;
  derived->request = formations_->SendJoin(std::move(join));
}

void DerivedTeams::AskAgain() {
  for (auto& [key, derived] : derived_) {
    derived.request = 0;
    Ask(key, &derived);
  }
}

void DerivedTeams::PlannerLost() {
  for (auto& [key, derived] : derived_) {
    derived.request = 0;
  }
}

FailureReport DerivedTeams::Check(const CheckedPrepare& prepare) {
  const schedule::TeamLayout& layout = prepare.head;
  const Team* team = teams_->Find(layout.parent);
  if (team == nullptr || !team->ready()) {
    return {Failure::kMemberLost, absl::StrCat("team ", layout.parent.value(), " is not on this node any more")};
  }
  if (team->broken()) return *team->broken();
  const schedule::TeamLayout& parent = team->layout();
  if (schedule::IsDerivedTeam(parent.identity) || layout.identity.uid != parent.identity.uid ||
      layout.identity.job != parent.identity.job || layout.identity.name != parent.identity.name ||
      !HaveSameMembers(**prepare.layout, *team->shared_layout()) || layout.window != parent.window) {
    return {Failure::kInvalidArgument, absl::StrCat("not a derived team of team ", layout.parent.value(), ": ",
                                                    schedule::DescribeTeam(layout.identity))};
  }
  const Key key = KeyOf(layout);
  Derived& derived = derived_[key];
  if (derived.id != TeamId{0} && derived.id != layout.id) {
    return {Failure::kInvalidArgument,
            absl::StrCat("team ", layout.parent.value(), " has a derived team of this class (team=", derived.id.value(),
                         ")")};
  }
  if (layout.identity.nonce < derived.failed) return derived.why;
  if (layout.identity.nonce > derived.failed) {
    FailureReport why = prepare.last_failure;
    // An old planner does not send the failure, and a restarted one does not know it.
    if (why.failure == Failure::kNone) {
      why = {Failure::kCanceled, absl::StrCat("team ", schedule::DescribeTeam(layout.identity),
                                              " could not be formed when other ranks came to this call")};
    }
    Fail(key, &derived, layout.identity.nonce, why);
  }
  return {};
}

void DerivedTeams::Prepared(const Team& derived) { derived_.at(KeyOf(derived.layout())).id = derived.id(); }

void DerivedTeams::Committed(Team* derived, uint32_t pending_max) {
  const Key key = KeyOf(derived->layout());
  const Team* team = teams_->Find(key.first);
  const auto it = derived_.find(key);
  if (team == nullptr || it == derived_.end() || it->second.id != derived->id()) return;
  Derived& forming = it->second;
  if (std::exchange(forming.committed, true)) return;
  forming.request = 0;
  std::vector<Rank> left;
  for (const Rank rank : derived->members().ranks()) {
    if (const std::optional<ClientId> client = team->members().ClientOf(rank)) {
      derived->Join(rank, *client);
    } else {
      left.push_back(rank);
    }
  }
  for (const Rank rank : left) (void)derived->Leave(rank);
  for (auto& [rank, state] : forming.members) {
    for (CallPost& post : std::exchange(state.waiting, {})) derived->Post(rank, std::move(post), pending_max);
  }
}

void DerivedTeams::Fail(const Key& key, Derived* derived, uint64_t failed, const FailureReport& why) {
  if (failed <= derived->failed) return;
  derived->failed = failed;
  derived->why = why;
  derived->id = TeamId{0};
  derived->request = 0;
  for (auto& [rank, state] : derived->members) {
    while (state.failed < failed && !state.waiting.empty()) {
      ++state.failed;
      Notify(key, rank, state.waiting.front().value, why);
      state.waiting.pop_front();
    }
  }
}

void DerivedTeams::Refused(const schedule::TeamLayout& layout, const FailureReport& why) {
  const auto it = derived_.find(KeyOf(layout));
  if (it == derived_.end() || (it->second.id != TeamId{0} && it->second.id != layout.id)) return;
  Fail(it->first, &it->second, layout.identity.nonce + 1, why);
  Ask(it->first, &it->second);
}

bool DerivedTeams::JoinFailed(uint64_t request, const FailureReport& why) {
  for (auto& [key, derived] : derived_) {
    if (derived.request != request) continue;
    Fail(key, &derived, derived.failed + 1, why);
    Ask(key, &derived);
    return true;
  }
  return false;
}

void DerivedTeams::Dropped(const schedule::TeamLayout& layout) {
  const auto it = derived_.find(KeyOf(layout));
  if (it == derived_.end() || it->second.id != layout.id) return;
  it->second.id = TeamId{0};
  it->second.request = 0;
  Ask(it->first, &it->second);
}

// --- Queries, and events of the parent team ---

std::vector<TeamId> DerivedTeams::Of(TeamId team) const {
  // `derived_` is not enough: the team of an attempt that Fail has counted may stay in the table until it is aborted.
  std::vector<TeamId> found;
  for (const auto& [id, derived] : *teams_) {
    if (schedule::IsDerivedTeam(derived->layout().identity) && derived->layout().parent == team) found.push_back(id);
  }
  return found;
}

void DerivedTeams::FailWaiting(TeamId team, const FailureReport& why) {
  for (auto it = derived_.lower_bound({team, Family::kCommon}); it != derived_.end() && it->first.first == team; ++it) {
    for (auto& [rank, state] : it->second.members) {
      for (const CallPost& post : std::exchange(state.waiting, {})) Notify(it->first, rank, post.value, why);
    }
  }
}

void DerivedTeams::AppendStatus(schedule::DaemonStatus* status) const {
  for (const auto& [key, derived] : derived_) {
    // All ranks make the same calls in the same order, so a call's place in a rank's queue identifies it.
    std::vector<schedule::CallStatus> calls;
    for (const auto& [rank, state] : derived.members) {
      size_t place = 0;
      for (const CallPost& post : state.waiting) {
        if (place == calls.size()) {
          calls.push_back(
              {.team = key.first, .sequence = CallSeq(place), .arguments = post.arguments, .waits_for = key.second});
        }
        schedule::CallStatus& call = calls[place++];
        call.age_s = std::max(call.age_s, absl::ToDoubleSeconds(parts_->clock->Now() - post.posted));
        call.joined.push_back(rank);
      }
    }
    for (schedule::CallStatus& call : calls) status->calls.push_back(std::move(call));
  }
}

void DerivedTeams::MemberLeft(TeamId team, Rank rank) {
  for (auto it = derived_.lower_bound({team, Family::kCommon}); it != derived_.end() && it->first.first == team; ++it) {
    it->second.members.erase(rank);
  }
}

void DerivedTeams::Forget(TeamId team) {
  auto it = derived_.lower_bound({team, Family::kCommon});
  while (it != derived_.end() && it->first.first == team) it = derived_.erase(it);
}

}  // namespace copse::daemon
