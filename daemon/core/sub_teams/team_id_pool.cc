// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/sub_teams/team_id_pool.h"

#include <utility>

namespace copse::daemon {

std::optional<TeamId> TeamIdPool::Take() {
  if (block_.count == 0) block_ = std::exchange(next_block_, {});
  if (block_.count == 0) return std::nullopt;
  --block_.count;
  return block_.first++;
}

void TeamIdPool::Add(const schedule::TeamIds& ids) {
  is_requested_ = false;
  low_ = (ids.count + 1) / 2;
  (block_.count == 0 ? block_ : next_block_) = ids;
}

bool TeamIdPool::SetCluster(const std::string& cluster) {
  const bool is_other = schedule::IsOtherCluster(cluster, cluster_);
  if (is_other) *this = {};
  if (!cluster.empty()) cluster_ = cluster;
  return is_other;
}

bool TeamIdPool::OnRegistered(const std::string& cluster) {
  const bool is_other = SetCluster(cluster);
  DropRequest();
  return is_other;
}

bool TeamIdPool::WantsMore() const { return !is_requested_ && block_.count + next_block_.count < low_; }

}  // namespace copse::daemon
