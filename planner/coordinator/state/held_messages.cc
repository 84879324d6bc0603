// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/held_messages.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace copse::coordinator {
namespace {

// Returns the team that a message concerns, or 0.
TeamId TeamOf(const schedule::ToDaemon& message) {
  return std::visit(
      [](const auto& m) {
        using T = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<T, schedule::Prepare>) return m.layout.id;
        if constexpr (std::is_same_v<T, schedule::Commit> || std::is_same_v<T, schedule::Abort> ||
                      std::is_same_v<T, schedule::BreakTeam> || std::is_same_v<T, schedule::EndTeam>) {
          return m.team;
        }
        return TeamId{0};
      },
      message);
}

bool TellsOfCluster(const schedule::ToDaemon& message) {
  return std::holds_alternative<schedule::Registered>(message) || std::holds_alternative<schedule::Drain>(message) ||
         std::holds_alternative<schedule::Cluster>(message) ||
         std::holds_alternative<schedule::Prepare>(message) ||  // its ids are of the term
         std::holds_alternative<schedule::TeamIds>(message);
}

}  // namespace

bool HeldMessages::MustWait(SessionId session, uint64_t after) const {
  return !changes_->IsStored(after) || held_.count(session) != 0;
}

bool HeldMessages::AwaitsRegistered(SessionId session) const {
  const auto it = held_.find(session);
  return it != held_.end() && std::holds_alternative<schedule::Registered>(it->second.front().message);
}

void HeldMessages::Send(SessionId session, const schedule::ToDaemon& message) {
  const TeamId team = TeamOf(message);
  const bool tells_of_cluster = TellsOfCluster(message);
  const uint64_t after = std::max(changes_->LastOf(team), tells_of_cluster ? changes_->last_of_cluster() : 0);
  const bool is_free = team == TeamId{0} && !tells_of_cluster;
  if (is_free ? !AwaitsRegistered(session) : !MustWait(session, after)) return sink_->Send(session, message);
  held_[session].push_back({after, team, message, nullptr, {}});
}

bool HeldMessages::SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare) {
  const TeamId team = prepare.layout.id;
  const uint64_t after = std::max(changes_->LastOf(team), changes_->last_of_cluster());
  const bool waits = std::any_of(members.begin(), members.end(),
                                 [&](const PrepareMember& member) { return MustWait(member.session, after); });
  if (!waits) {
    sink_->SendPrepare(members, std::move(prepare));
    return false;
  }
  const auto shared = std::make_shared<const schedule::Prepare>(std::move(prepare));
  for (const PrepareMember& member : members) held_[member.session].push_back({after, team, {}, shared, member});
  return Release();
}

bool HeldMessages::Release() {
  size_t sent = 0;
  bool again = true;
  while (again && sent < kReleasedAtOnce) {
    std::vector<std::pair<std::shared_ptr<const schedule::Prepare>, std::vector<PrepareMember>>> prepares;
    for (auto it = held_.begin(); it != held_.end() && sent < kReleasedAtOnce;) {
      std::list<Held>& queue = it->second;
      const auto may_go = [&] { return !queue.empty() && changes_->IsStored(queue.front().after); };
      for (; may_go() && queue.front().shared == nullptr; queue.pop_front()) {
        sink_->Send(it->first, queue.front().message);
        ++sent;
      }
      if (may_go()) {
        const auto same = std::find_if(prepares.begin(), prepares.end(),
                                       [&](const auto& known) { return known.first == queue.front().shared; });
        auto& members =
            same == prepares.end() ? prepares.emplace_back(queue.front().shared, std::vector<PrepareMember>{}) : *same;
        members.second.push_back(std::move(queue.front().member));
        queue.pop_front();
      }
      it = queue.empty() ? held_.erase(it) : std::next(it);
    }
    for (const auto& [prepare, members] : prepares) sink_->SendPrepare(members, *prepare);
    again = !prepares.empty();
  }
  return sent >= kReleasedAtOnce;
}

void HeldMessages::Withdraw(uint64_t number, const StoreChange& change) {
  const TeamId team = coordinator::TeamOf(change);
  const bool drains = std::holds_alternative<PutDraining>(change);
  for (auto& [session, queue] : held_) {
    queue.remove_if([&](const Held& held) {
      if (held.after != number) return false;
      const bool tells = drains && std::holds_alternative<schedule::Drain>(held.message);
      return tells || (team != TeamId{0} && held.team == team);
    });
  }
}

size_t HeldMessages::count() const {
  size_t count = 0;
  for (const auto& [session, queue] : held_) count += queue.size();
  return count;
}

}  // namespace copse::coordinator
