// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/peers/neighbours.h"

#include <algorithm>

#include "base/status_macros.h"

namespace copse::daemon {
namespace {

// An unused connection is kept for this time: the last messages must leave, and a new team may use it again.
constexpr absl::Duration kLinger = absl::Seconds(2);

}  // namespace

absl::Status NeighbourTable::Acquire(const schedule::TeamNode& node, absl::Time now) {
  auto it = neighbours_.find(node.incarnation);
  if (it == neighbours_.end()) {
    RETURN_IF_ERROR(connections_->Connect({node.incarnation, node.worker_address}));
    it = neighbours_.emplace(node.incarnation, Neighbour{.node = node, .sent = absl::InfinitePast()}).first;
  }
  Neighbour& neighbour = it->second;
  if (neighbour.users++ == 0) neighbour.last_received = now;  // silence counts from now on
  return absl::OkStatus();
}

void NeighbourTable::Release(Incarnation peer, absl::Time now) {
  const auto it = neighbours_.find(peer);
  if (it == neighbours_.end() || it->second.users == 0) return;
  if (--it->second.users == 0) it->second.released = now;
}

absl::Status NeighbourTable::AcquireGuest(const schedule::TeamNode& node, absl::Time now) {
  auto it = neighbours_.find(node.incarnation);
  if (it == neighbours_.end()) {
    RETURN_IF_ERROR(connections_->Connect({node.incarnation, node.worker_address}));
    it = neighbours_
             .emplace(node.incarnation,
                      Neighbour{.node = node, .last_received = now, .sent = absl::InfinitePast(), .released = now})
             .first;
  }
  ++it->second.guests;
  return absl::OkStatus();
}

void NeighbourTable::ReleaseGuest(Incarnation peer, absl::Time now) {
  const auto it = neighbours_.find(peer);
  if (it == neighbours_.end() || it->second.guests == 0) return;
  --it->second.guests;
  it->second.released = now;
}

bool NeighbourTable::OnlyGuest(Incarnation peer) const {
  const auto it = neighbours_.find(peer);
  return it != neighbours_.end() && it->second.users == 0 && it->second.guests > 0;
}

void NeighbourTable::Lost(Incarnation peer) {
  if (neighbours_.erase(peer) > 0) connections_->Disconnect(peer);
}

void NeighbourTable::OnReceived(Incarnation peer, absl::Time now) {
  const auto it = neighbours_.find(peer);
  if (it != neighbours_.end()) it->second.last_received = now;
}

void NeighbourTable::AllowFor(absl::Duration gap) {
  for (auto& [peer, neighbour] : neighbours_) neighbour.last_received += gap;
}

std::vector<Incarnation> NeighbourTable::DueHeartbeats(absl::Time now, absl::Duration interval) {
  std::vector<Incarnation> due;
  for (auto& [peer, neighbour] : neighbours_) {
    if (neighbour.users == 0 || now - neighbour.sent < interval) continue;
    neighbour.sent = now;
    due.push_back(peer);
  }
  return due;
}

std::vector<schedule::TeamNode> NeighbourTable::Silent(absl::Time now, absl::Duration timeout) const {
  std::vector<schedule::TeamNode> silent;
  for (const auto& [peer, neighbour] : neighbours_) {
    if (neighbour.users > 0 && now - neighbour.last_received >= timeout) silent.push_back(neighbour.node);
  }
  return silent;
}

uint32_t NeighbourTable::ReceivedSince(absl::Time then) const {
  return static_cast<uint32_t>(std::count_if(neighbours_.begin(), neighbours_.end(), [&](const auto& entry) {
    return entry.second.users > 0 && entry.second.last_received >= then;
  }));
}

bool NeighbourTable::InUse(Incarnation peer) const {
  const auto it = neighbours_.find(peer);
  return it != neighbours_.end() && it->second.users > 0;
}

void NeighbourTable::DropUnused(absl::Time now) {
  for (auto it = neighbours_.begin(); it != neighbours_.end();) {
    if (it->second.users == 0 && it->second.guests == 0 && now - it->second.released >= kLinger) {
      connections_->Release(it->first);
      it = neighbours_.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace copse::daemon
