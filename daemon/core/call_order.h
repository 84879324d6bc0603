// SPDX-License-Identifier: Apache-2.0
//
// Calls of different collective classes that wait for each other.
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

// CallOrder compares which calls the ranks have made in a team and its derived teams: those of this node as they make
// them, those of neighbors once a call waits for long. Thread-compatible; `*link` outlives it.
class CallOrder {
 public:
  // `*node`, this one's name, outlives it.
  CallOrder(PeerLink* link, const std::string* node) : link_(link), node_(node) {}

  // The rank makes its next call. Why the team is to be broken, if another rank here makes one of another class
  // instead; within a class the call itself finds out.
  std::optional<schedule::FailureReport> Note(const Team& team, Rank rank, const CallArguments& arguments);
  // A call of `team`, which is no derived team, waits for long: asks the neighbors.
  void AskNeighbours(const Team& team) const;
  void OnCalls(const Team& team, Incarnation from, const CallsMessage& message) const;
  // Why the team is to be broken, if the neighbor's call is another one.
  std::optional<schedule::FailureReport> OnCallsDiffer(const CallsDifferMessage& message) const;
  void Forget(TeamId team) { histories_.erase(team); }

 private:
  const CallHistory* Find(TeamId team) const;

  PeerLink* const link_;
  const std::string* const node_;
  std::map<TeamId, CallHistory> histories_;  // of teams that are no derived teams
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALL_ORDER_H_
