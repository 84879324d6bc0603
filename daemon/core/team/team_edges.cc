// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/team_edges.h"

#include "absl/status/status.h"
#include "base/log.h"
#include "protocol/log_subject.h"

namespace copse::daemon {

TeamEdges::~TeamEdges() {
  while (!users_.empty()) Drop(NodeIndex(users_.begin()->first));
}

void TeamEdges::Acquire(absl::Span<const uint32_t> nodes) {
  for (const uint32_t index : nodes) {
    if (members_->HasLeft(index)) continue;
    const schedule::TeamNode& node = members_->node(index);
    const absl::Status acquired = link_->AcquireNeighbor(node);
    if (!acquired.ok()) {
      COPSE_LOG_ABOUT(kWarning, schedule::AboutTeam(members_->layout()), "team ", members_->id().value(),
                      ": no connection to node ", node.name, ": ", acquired.message());
      continue;
    }
    if (++users_[index] > 1) continue;
    if (const LeftMessage* left = members_->OwnDeparture()) link_->SendToPeer(node.incarnation, *left);
  }
}

void TeamEdges::Release(absl::Span<const uint32_t> nodes) {
  for (const uint32_t index : nodes) {
    const auto it = users_.find(index);
    if (it == users_.end()) continue;
    link_->ReleaseNeighbor(members_->node(index).incarnation);
    if (--it->second == 0) users_.erase(it);
  }
}

void TeamEdges::Drop(NodeIndex node) {
  const auto it = users_.find(node.value());
  if (it == users_.end()) return;
  for (uint32_t i = 0; i < it->second; ++i) link_->ReleaseNeighbor(members_->node(node.value()).incarnation);
  users_.erase(it);
}

std::vector<Incarnation> TeamEdges::Neighbors() const {
  std::vector<Incarnation> neighbors;
  for (const auto& [node, users] : users_) neighbors.push_back(members_->node(node).incarnation);
  return neighbors;
}

void TeamEdges::SendToAll(const PeerMessage& message, std::optional<Incarnation> except) const {
  for (const auto& [node, users] : users_) {
    const Incarnation peer = members_->node(node).incarnation;
    if (peer != except) link_->SendToPeer(peer, message);
  }
}

}  // namespace copse::daemon
