// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/neighbors.h"

#include <algorithm>

#include "base/status_macros.h"

namespace copse::daemon {
namespace {

// An unused connection is kept for this time: the last messages must leave, and a new team may use it again.
constexpr absl::Duration kLinger = absl::Seconds(2);

}  // namespace

absl::Status NeighborTable::Acquire(const schedule::TeamNode& node, absl::Time now) {
  auto it = neighbors_.find(node.incarnation);
  if (it == neighbors_.end()) {
    RETURN_IF_ERROR(connections_->Connect({node.incarnation, node.worker_address, node.name}));
    it = neighbors_.emplace(node.incarnation, Neighbor{.node = node, .sent = absl::InfinitePast()}).first;
  }
  Neighbor& neighbor = it->second;
  if (neighbor.users++ == 0) neighbor.last_received = now;  // silence counts from now on
  return absl::OkStatus();
}

void NeighborTable::Release(Incarnation peer, absl::Time now) {
  const auto it = neighbors_.find(peer);
  if (it == neighbors_.end() || it->second.users == 0) return;
  if (--it->second.users == 0) it->second.released = now;
}

absl::Status NeighborTable::AcquireGuest(const schedule::TeamNode& node, absl::Time now) {
  auto it = neighbors_.find(node.incarnation);
  if (it == neighbors_.end()) {
    RETURN_IF_ERROR(connections_->Connect({node.incarnation, node.worker_address, node.name}));
    it = neighbors_
             .emplace(node.incarnation,
                      Neighbor{.node = node, .last_received = now, .sent = absl::InfinitePast(), .released = now})
             .first;
  }
  ++it->second.guests;
  return absl::OkStatus();
}

void NeighborTable::ReleaseGuest(Incarnation peer, absl::Time now) {
  const auto it = neighbors_.find(peer);
  if (it == neighbors_.end() || it->second.guests == 0) return;
  --it->second.guests;
  it->second.released = now;
}

bool NeighborTable::OnlyGuest(Incarnation peer) const {
  const auto it = neighbors_.find(peer);
  return it != neighbors_.end() && it->second.users == 0 && it->second.guests > 0;
}

void NeighborTable::Lost(Incarnation peer) {
  if (neighbors_.erase(peer) > 0) connections_->Disconnect(peer);
}

void NeighborTable::OnReceived(Incarnation peer, absl::Time now) {
  const auto it = neighbors_.find(peer);
  if (it != neighbors_.end()) it->second.last_received = now;
}

void NeighborTable::AllowFor(absl::Duration gap, absl::Time now) {
  for (auto& [peer, neighbor] : neighbors_) {
    // A frame that was handled just before, or an Acquire, is later than the gap's beginning.
    neighbor.last_received = std::min(neighbor.last_received + gap, now);
  }
}

std::vector<Incarnation> NeighborTable::DueHeartbeats(absl::Time now, absl::Duration interval) {
  std::vector<Incarnation> due;
  for (auto& [peer, neighbor] : neighbors_) {
    if (neighbor.users == 0 || now - neighbor.sent < interval) continue;
    neighbor.sent = now;
    due.push_back(peer);
  }
  heartbeats_sent_ += due.size();
  return due;
}

std::vector<schedule::TeamNode> NeighborTable::Silent(absl::Time now, absl::Duration timeout) const {
  std::vector<schedule::TeamNode> silent;
  for (const auto& [peer, neighbor] : neighbors_) {
    if (neighbor.users > 0 && now - neighbor.last_received >= timeout) silent.push_back(neighbor.node);
  }
  return silent;
}

uint32_t NeighborTable::ReceivedSince(absl::Time then) const {
  return static_cast<uint32_t>(std::count_if(neighbors_.begin(), neighbors_.end(), [&](const auto& entry) {
    return entry.second.users > 0 && entry.second.last_received >= then;
  }));
}

bool NeighborTable::InUse(Incarnation peer) const {
  const auto it = neighbors_.find(peer);
  return it != neighbors_.end() && it->second.users > 0;
}

void NeighborTable::DropUnused(absl::Time now) {
  for (auto it = neighbors_.begin(); it != neighbors_.end();) {
    if (it->second.users == 0 && it->second.guests == 0 && now - it->second.released >= kLinger) {
      connections_->Release(it->first);
      it = neighbors_.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace copse::daemon
