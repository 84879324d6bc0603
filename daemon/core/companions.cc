// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/companions.h"

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

bool Companions::Companion::HasWaiting() const {
  return std::any_of(members.begin(), members.end(), [](const auto& entry) { return !entry.second.waiting.empty(); });
}

void Companions::Tell(const Key& key, Rank rank, uint64_t value, const FailureReport& why) {
  const Team* team = teams_->Find(key.first);
  const std::optional<ClientId> client = team == nullptr ? std::nullopt : team->members().ClientOf(rank);
  if (!client) return;
  if (parts_->options->instruments != nullptr) parts_->options->instruments->PostRefused();
  parts_->clients->Notify(*client, {.value = value, .failure = why});
}

void Companions::Post(Team* team, Rank rank, CallPost&& post, uint32_t pending_max) {
  const Key key{team->id(), schedule::FamilyOfCall(post.arguments)};
  Companion& companion = companions_[key];
  Member& member = companion.members[rank];
  if (member.told < companion.failed) {
    ++member.told;
    return Tell(key, rank, post.value, companion.why);
  }
  if (companion.committed) return teams_->Find(companion.id)->Post(rank, std::move(post), pending_max);
  if (member.waiting.size() >= pending_max) {
    return Tell(
        key, rank, post.value,
        {Failure::kNoResource,
         absl::StrCat("team ", DescribeTeam(team->layout().identity), ": rank ", rank.value(),
                      " has too many calls waiting (calls=", member.waiting.size() + 1, ", limit=", pending_max, ")"),
         FailureCause::kQuota, "", rank, pending_max});
  }
  post.posted = parts_->clock->Now();
  member.waiting.push_back(std::move(post));
  Ask(key, &companion);
}

bool Companions::HasRoom(const Team& team, Family family, Rank rank, uint32_t pending_max) const {
  const auto it = companions_.find({team.id(), family});
  if (it == companions_.end()) return pending_max > 0;
  const Companion& companion = it->second;
  const auto member = companion.members.find(rank);
  if (member != companion.members.end() && member->second.told < companion.failed) return true;  // is told at once
  if (companion.committed) return teams_->Find(companion.id)->HasRoom(rank, pending_max);
  return member == companion.members.end() || member->second.waiting.size() < pending_max;
}

bool Companions::HasCallWaiting(TeamId team, Rank rank) const {
  for (auto it = companions_.lower_bound({team, Family::kCommon}); it != companions_.end() && it->first.first == team;
       ++it) {
    const auto member = it->second.members.find(rank);
    if (member != it->second.members.end() && !member->second.waiting.empty()) return true;
  }
  return false;
}

bool Companions::HasCallWaiting() const {
  return std::any_of(companions_.begin(), companions_.end(),
                     [](const auto& entry) { return entry.second.HasWaiting(); });
}

// --- Formation ---

void Companions::Ask(const Key& key, Companion* companion) {
  if (companion->id != TeamId{0} || companion->request != 0) return;
  if (!parts_->planner->registered()) return;
  if (!parts_->planner->Has(schedule::Feature::kCompanions)) {
    while (companion->HasWaiting()) {
      Fail(key, companion, companion->failed + 1,
           {Failure::kVersion,
            absl::StrCat("the planner is too old for collectives of the family ", AbslView(FamilyName(key.second)))});
    }
    return;
  }
  const auto first = std::find_if(companion->members.begin(), companion->members.end(),
                                  [](const auto& entry) { return !entry.second.waiting.empty(); });
  if (first == companion->members.end()) return;
  const schedule::TeamLayout& layout = teams_->Find(key.first)->layout();
  schedule::JoinTeam join{.identity = layout.identity, .parent = layout.id, .rank = first->first};
  join.identity.family = key.second;
  join.identity.nonce = companion->failed;
  join.size = layout.shape.size();
  join.last_failure = companion->why;
  companion->request = formations_->SendJoin(std::move(join));
}

void Companions::AskAgain() {
  for (auto& [key, companion] : companions_) {
    companion.request = 0;
    Ask(key, &companion);
  }
}

void Companions::PlannerLost() {
  for (auto& [key, companion] : companions_) {
    companion.request = 0;
  }
}

FailureReport Companions::Check(const schedule::Prepare& prepare) {
  const schedule::TeamLayout& layout = prepare.layout;
  const Team* team = teams_->Find(layout.parent);
  if (team == nullptr || !team->ready()) {
    return {Failure::kMemberLost, absl::StrCat("team ", layout.parent.value(), " is not here any more")};
  }
  if (team->broken()) return *team->broken();
  const schedule::TeamLayout& its = team->layout();
  if (schedule::IsCompanion(its.identity) || layout.identity.uid != its.identity.uid ||
      layout.identity.job != its.identity.job || layout.identity.name != its.identity.name ||
      layout.nodes != its.nodes || layout.shape != its.shape || layout.window != its.window) {
    return {Failure::kInvalidArgument, absl::StrCat("no companion of team ", layout.parent.value(), ": ",
                                                    schedule::DescribeTeam(layout.identity))};
  }
  const Key key = KeyOf(layout);
  Companion& companion = companions_[key];
  if (companion.id != TeamId{0} && companion.id != layout.id) {
    return {Failure::kInvalidArgument,
            absl::StrCat("team ", layout.parent.value(), " has this companion (team=", companion.id.value(), ")")};
  }
  if (layout.identity.nonce < companion.failed) return companion.why;
  if (layout.identity.nonce > companion.failed) {
    FailureReport why = prepare.last_failure;
    if (why.failure == Failure::kNone) {  // of a planner that does not say it, or has forgotten it
      why = {Failure::kCanceled, absl::StrCat("team ", schedule::DescribeTeam(layout.identity),
                                              " could not be formed when other ranks came to this call")};
    }
    Fail(key, &companion, layout.identity.nonce, why);
  }
  return {};
}

void Companions::Prepared(const Team& companion) { companions_.at(KeyOf(companion.layout())).id = companion.id(); }

void Companions::Committed(Team* companion, uint32_t pending_max) {
  const Key key = KeyOf(companion->layout());
  const Team* team = teams_->Find(key.first);
  const auto it = companions_.find(key);
  if (team == nullptr || it == companions_.end() || it->second.id != companion->id()) return;
  Companion& state = it->second;
  if (std::exchange(state.committed, true)) return;
  state.request = 0;
  std::vector<Rank> left;
  for (const Rank rank : companion->members().ranks()) {
    if (const std::optional<ClientId> client = team->members().ClientOf(rank)) {
      companion->Join(rank, *client);
    } else {
      left.push_back(rank);
    }
  }
  for (const Rank rank : left) (void)companion->Leave(rank);
  for (auto& [rank, member] : state.members) {
    for (CallPost& post : std::exchange(member.waiting, {})) companion->Post(rank, std::move(post), pending_max);
  }
}

void Companions::Fail(const Key& key, Companion* companion, uint64_t failed, const FailureReport& why) {
  if (failed <= companion->failed) return;
  companion->failed = failed;
  companion->why = why;
  companion->id = TeamId{0};
  companion->request = 0;
  for (auto& [rank, member] : companion->members) {
    while (member.told < failed && !member.waiting.empty()) {
      ++member.told;
      Tell(key, rank, member.waiting.front().value, why);
      member.waiting.pop_front();
    }
  }
}

void Companions::Refused(const schedule::TeamLayout& layout, const FailureReport& why) {
  const auto it = companions_.find(KeyOf(layout));
  if (it == companions_.end() || (it->second.id != TeamId{0} && it->second.id != layout.id)) return;
  Fail(it->first, &it->second, layout.identity.nonce + 1, why);
  Ask(it->first, &it->second);
}

bool Companions::JoinFailed(uint64_t request, const FailureReport& why) {
  for (auto& [key, companion] : companions_) {
    if (companion.request != request) continue;
    Fail(key, &companion, companion.failed + 1, why);
    Ask(key, &companion);
    return true;
  }
  return false;
}

void Companions::Dropped(const schedule::TeamLayout& layout) {
  const auto it = companions_.find(KeyOf(layout));
  if (it == companions_.end() || it->second.id != layout.id) return;
  it->second.id = TeamId{0};
  it->second.request = 0;
  Ask(it->first, &it->second);
}

// --- With the team ---

std::vector<TeamId> Companions::Of(TeamId team) const {
  std::vector<TeamId> found;
  for (auto it = companions_.lower_bound({team, Family::kCommon}); it != companions_.end() && it->first.first == team;
       ++it) {
    if (it->second.id != TeamId{0}) found.push_back(it->second.id);
  }
  return found;
}

void Companions::FailWaiting(TeamId team, const FailureReport& why) {
  for (auto it = companions_.lower_bound({team, Family::kCommon}); it != companions_.end() && it->first.first == team;
       ++it) {
    for (auto& [rank, member] : it->second.members) {
      for (const CallPost& post : std::exchange(member.waiting, {})) Tell(it->first, rank, post.value, why);
    }
  }
}

void Companions::AppendStatus(schedule::DaemonStatus* status) const {
  for (const auto& [key, companion] : companions_) {
    // The calls of a rank are those of the others, in order: by their places.
    std::vector<schedule::CallStatus> calls;
    for (const auto& [rank, member] : companion.members) {
      size_t place = 0;
      for (const CallPost& post : member.waiting) {
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

void Companions::MemberLeft(TeamId team, Rank rank) {
  for (auto it = companions_.lower_bound({team, Family::kCommon}); it != companions_.end() && it->first.first == team;
       ++it) {
    it->second.members.erase(rank);
  }
}

void Companions::Forget(TeamId team) {
  auto it = companions_.lower_bound({team, Family::kCommon});
  while (it != companions_.end() && it->first.first == team) it = companions_.erase(it);
}

}  // namespace copse::daemon
