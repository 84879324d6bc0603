// SPDX-License-Identifier: Apache-2.0
//
// Finds calls that can never end, because a rank that they need has left the team.
#ifndef COPSE_DAEMON_CORE_TEAM_LEAVERS_H_
#define COPSE_DAEMON_CORE_TEAM_LEAVERS_H_

#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.h"
#include "daemon/core/team/epoch_switch.h"
#include "daemon/core/team/team_members.h"
#include "protocol/control.h"

namespace copse::daemon {

// Leavers compares the calls here with the numbers of calls that ranks had made when they left: an error that names
// such a rank is better than a call that waits forever. Thread-compatible; `*members` and `*epochs` must outlive it.
class Leavers {
 public:
  Leavers(const TeamMembers* members, const EpochSwitch* epochs) : members_(members), epochs_(epochs) {}

  // A packet has shown that `node` has other arguments for this call. An ArgumentsMessage from it follows, unless its
  // last rank leaves before.
  void OnMismatch(NodeIndex node, CallSeq sequence) { unlike_.emplace(node.value(), sequence); }

  // Returns why the team must break, now that `ahead`, the foremost rank here, has started all calls below `next`.
  // Returns nothing if no call here needs a rank that has left.
  std::optional<schedule::FailureReport> Check(Rank ahead, CallSeq next) const;

 private:
  const TeamMembers* const members_;
  const EpochSwitch* const epochs_;
  std::map<uint32_t, CallSeq> unlike_;  // the first call that OnMismatch has reported, by node
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_LEAVERS_H_
