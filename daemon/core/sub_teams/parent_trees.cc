// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/parent_trees.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"

namespace copse::daemon {
namespace {

// Limits the parents that were left; the last ones are kept.
constexpr size_t kLeftMax = 64;

}  // namespace

void ParentTrees::Add(const Team& team, const TreePlace& place) {
  parents_[team.id()] = {.place = place, .self = team.members().self(), .layout = nullptr, .left = {}, .promised = {}};
}

void ParentTrees::Leave(const Team& team) {
  const auto it = parents_.find(team.id());
  if (it == parents_.end()) return;
  if (team.layout().nodes.size() == 1) {
    parents_.erase(it);
    return;
  }
  it->second.layout = team.shared_layout();
  it->second.left = clock_->Now();
  left_.push_back(team.id());
  if (left_.size() <= kLeftMax) return;
  parents_.erase(left_.front());
  left_.pop_front();
}

void ParentTrees::DropLeft(absl::Duration timeout) {
  const absl::Time now = clock_->Now();
  while (!left_.empty()) {
    const auto parent = parents_.find(left_.front());
    if (parent != parents_.end() && now - parent->second.left < timeout) return;
    if (parent != parents_.end()) parents_.erase(parent);
    left_.pop_front();
  }
}

bool ParentTrees::HasRanks(TeamId team) const {
  const auto it = parents_.find(team);
  return it != parents_.end() && it->second.layout == nullptr;
}

bool ParentTrees::IsRoot(TeamId team) const {
  const auto it = parents_.find(team);
  return it != parents_.end() && !it->second.place.up.has_value();
}

const schedule::TeamLayout* ParentTrees::LayoutOf(TeamId team) const {
  const auto it = parents_.find(team);
  if (it == parents_.end()) return nullptr;
  if (it->second.layout != nullptr) return &it->second.layout->layout();
  const Team* const found = teams_->Find(team);
  return found == nullptr ? nullptr : &found->layout();
}

std::optional<NodeIndex> ParentTrees::NodeOf(TeamId team, Incarnation daemon) const {
  const std::vector<schedule::TeamNode>& nodes = LayoutOf(team)->nodes;
  const auto node = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const schedule::TeamNode& member) { return member.incarnation == daemon; });
  if (node == nodes.end()) return std::nullopt;
  return NodeIndex(static_cast<uint32_t>(node - nodes.begin()));
}

void ParentTrees::Promise(TeamId team, TeamId id) {
  if (const auto it = parents_.find(team); it != parents_.end()) it->second.promised = id;
}

TeamId ParentTrees::TakePromise(TeamId team) {
  const auto it = parents_.find(team);
  return it == parents_.end() ? TeamId(0) : std::exchange(it->second.promised, TeamId(0));
}

void ParentTrees::DropPromises() {
  for (auto& [id, parent] : parents_) parent.promised = TeamId(0);
}

void ParentTrees::SendTo(TeamId team, NodeIndex node, const PeerMessage& message) {
  const schedule::TeamLayout* const layout = LayoutOf(team);
  if (layout == nullptr) return;
  // The edge may have ended with an earlier epoch of the parent, or because the ranks here have left it.
  const schedule::TeamNode& peer = layout->nodes[node.value()];
  if (!link_->AcquireNeighbor(peer).ok()) return;
  link_->SendToPeer(peer.incarnation, message);
  link_->ReleaseNeighbor(peer.incarnation);
}

void ParentTrees::SendUp(TeamId team, const PeerMessage& message) {
  const auto it = parents_.find(team);
  if (it != parents_.end() && it->second.place.up) SendTo(team, *it->second.place.up, message);
}

void ParentTrees::CheckInvariants() const {
  for (const auto& [id, parent] : parents_) CHECK(parent.layout != nullptr || teams_->Find(id) != nullptr);
}

}  // namespace copse::daemon
