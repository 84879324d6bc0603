// SPDX-License-Identifier: Apache-2.0
//
// Calls that can never end, because a rank that they need has left the team.
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

// Leavers finds such calls: an error that names the rank which has left is better than waiting for ever.
// Thread-compatible; `*members` and `*epochs` outlive it.
class Leavers {
 public:
  Leavers(const TeamMembers* members, const EpochSwitch* epochs) : members_(members), epochs_(epochs) {}

  // A packet of `node` for this call has other arguments than this node's. Its own arguments come as a message, unless
  // its last rank leaves before.
  void OnMismatch(NodeIndex node, CallSeq sequence) { unlike_.emplace(node.value(), sequence); }

  // Why the team is to be broken, now that `ahead`, the foremost rank here, has started all calls below `next`.
  // Nothing: all that have left may have.
  std::optional<schedule::FailureReport> Check(Rank ahead, CallSeq next) const;

 private:
  const TeamMembers* const members_;
  const EpochSwitch* const epochs_;
  std::map<uint32_t, CallSeq> unlike_;  // by node: the first such call
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_LEAVERS_H_
