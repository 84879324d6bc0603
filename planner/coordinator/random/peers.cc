// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/random/peers.h"

#include "planner/coordinator/random/fake_daemon.h"
#include "planner/coordinator/random/world.h"

namespace copse::coordinator {

void Peers::Send(const NodeKey& from, const schedule::TeamNode& to, SubTeamMessage message) {
  const auto receiver = world_->daemons.find(to.name);
  if (receiver == world_->daemons.end() || receiver->second->key().second != to.incarnation) return;
  under_way_[{from, receiver->second->key()}].push_back(std::move(message));
}

bool Peers::Deliver() {
  if (under_way_.empty()) return false;
  const auto it = SomeOf(under_way_, world_->prng);
  const auto [from, to] = it->first;
  const SubTeamMessage message = std::move(it->second.front());
  it->second.pop_front();
  if (it->second.empty()) under_way_.erase(it);
  world_->daemons.at(to.first)->sub_teams.On(from, message);
  return true;
}

void Peers::Drop(const NodeKey& dead) {
  std::erase_if(under_way_, [&](const auto& entry) { return entry.first.first == dead || entry.first.second == dead; });
}

}  // namespace copse::coordinator
