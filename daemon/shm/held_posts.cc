// SPDX-License-Identifier: Apache-2.0
#include "daemon/shm/held_posts.h"

#include <algorithm>

#include "collectives/collective.h"

namespace copse::daemon {

bool HeldPosts::WaitsForOthers(const ring::DqEntry& entry) const {
  const bool has_lists = entry.command == static_cast<uint8_t>(ring::Command::kCollective) &&
                         entry.collective < kCollectiveCount && IsIrregular(static_cast<Collective>(entry.collective));
  if (has_lists && list_bytes_ >= list_bytes_max_ && lists_.contains(entry.team)) return true;
  return std::any_of(held_.begin(), held_.end(), [&](const Held& held) { return held.slot.entry.team == entry.team; });
}

void HeldPosts::OnCall(uint32_t team, uint64_t list_bytes) {
  if (list_bytes == 0) return;
  list_bytes_ += list_bytes;
  ++lists_[team];
}

void HeldPosts::OnCallOver(uint32_t team, uint64_t list_bytes) {
  if (list_bytes == 0) return;
  list_bytes_ -= list_bytes;
  if (--lists_[team] == 0) lists_.erase(team);
  may_go_ = !held_.empty();
}

}  // namespace copse::daemon
