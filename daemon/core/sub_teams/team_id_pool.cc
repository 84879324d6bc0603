// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/team_id_pool.h"

#include <utility>

namespace copse::daemon {
namespace {

// A block of fewer ids than this is as good as none.
constexpr uint32_t kLow = 512;

}  // namespace

std::optional<TeamId> TeamIdPool::Take() {
  if (block_.count == 0) block_ = std::exchange(next_block_, {});
  if (block_.count == 0) return std::nullopt;
  --block_.count;
  return block_.first++;
}

void TeamIdPool::Add(const schedule::TeamIds& ids) {
  is_requested_ = false;
  (block_.count == 0 ? block_ : next_block_) = ids;
}

bool TeamIdPool::WantsMore() const { return !is_requested_ && block_.count + next_block_.count < kLow; }

}  // namespace copse::daemon
