// SPDX-License-Identifier: Apache-2.0
//
// Finds calls of different collective classes that wait for each other.
#ifndef COPSE_DAEMON_CORE_CALL_ORDER_H_
#define COPSE_DAEMON_CORE_CALL_ORDER_H_

#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/call_history.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/team/team.h"
#include "daemon/core/team/team_host.h"
#include "protocol/control.h"

namespace copse::daemon {

// CallOrder compares the calls that ranks have made in a team and its derived teams: those of this node's ranks at
// once, those of neighbors' ranks when a call has waited for long. Thread-compatible; `*link` outlives it.
class CallOrder {
 public:
  // `*node`, this one's name, outlives it.
  CallOrder(PeerLink* link, const std::string* node) : link_(link), node_(node) {}

  // Records the rank's next call. Returns why the team must break if another rank here makes a call of another class
  // instead; within a class the call itself finds the difference.
  std::optional<schedule::FailureReport> Note(const Team& team, Rank rank, const CallArguments& arguments);
  // A call of `team`, which is no derived team, has waited for long: sends the calls of this node to the neighbors.
  void AskNeighbours(const Team& team) const;
  void OnCalls(const Team& team, Incarnation from, const CallsMessage& message) const;
  // Returns why the team must break if the neighbor's call is different.
  std::optional<schedule::FailureReport> OnCallsDiffer(const CallsDifferMessage& message) const;
  void Forget(TeamId team) { histories_.erase(team); }

 private:
  const CallHistory* Find(TeamId team) const;

  PeerLink* const link_;
  const std::string* const node_;
  std::map<TeamId, CallHistory> histories_;  // derived teams have none of their own
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALL_ORDER_H_
