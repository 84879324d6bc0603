// SPDX-License-Identifier: Apache-2.0
//
// Keeps the ids that the planner has issued for teams that this daemon forms.
#ifndef COPSE_DAEMON_CORE_SUB_TEAMS_TEAM_ID_POOL_H_
#define COPSE_DAEMON_CORE_SUB_TEAMS_TEAM_ID_POOL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "protocol/control.h"

namespace copse::daemon {

// A TeamIdPool gives each id at most once. It asks for more when less than half of the last block is left.
// Thread-compatible.
class TeamIdPool {
 public:
  // Returns nothing if there are no ids.
  std::optional<TeamId> Take();
  void Add(const schedule::TeamIds& ids);
  // The planner is one of this cluster (UUID; empty: not known). Forgets the ids of another cluster, which may have
  // other teams with them, and returns whether it did.
  bool SetCluster(const std::string& cluster);
  // Such a planner has accepted the daemon, and has had no request yet. Returns what SetCluster does.
  bool OnRegistered(const std::string& cluster);

  // Returns whether ids should be requested now: few are left, and no request is unanswered.
  bool WantsMore() const;
  // A request has been sent.
  void Requested() { is_requested_ = true; }
  // The request will not be answered: the stream has ended.
  void DropRequest() { is_requested_ = false; }

 private:
  schedule::TeamIds block_, next_block_;
  uint32_t low_ = 1;  // with fewer ids, more are requested
  bool is_requested_ = false;
  std::string cluster_;  // UUID; empty: not known
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_SUB_TEAMS_TEAM_ID_POOL_H_
