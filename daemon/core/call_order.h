// SPDX-License-Identifier: Apache-2.0
//
// Finds mismatched calls of ranks, also of different collective classes, which would wait for each other forever.
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
// once, those of neighbors' ranks when a call has waited for long. Every `team` below is one that is not derived.
// Thread-compatible; `*link` must outlive it.
class CallOrder {
 public:
  // `*node`, the name of this node, must outlive this object.
  CallOrder(PeerLink* link, const std::string* node) : link_(link), node_(node) {}

  // Records the rank's next call. Returns why the team must break if the call of that number of another rank here has
  // another collective class; within a class, the call itself finds the difference.
  std::optional<schedule::FailureReport> Note(const Team& team, Rank rank, const CallArguments& arguments);
  // A call has waited for long: sends the newest calls of this node to the neighbors.
  void AskNeighbors(const Team& team) const;
  // Sends a CallsDifferMessage to the neighbor if one of its calls has other arguments here.
  void OnCalls(const Team& team, Incarnation from, const CallsMessage& message) const;
  // Returns why the team must break, if the neighbor's call has other arguments here; nothing if the call is not kept
  // any more.
  std::optional<schedule::FailureReport> OnCallsDiffer(const CallsDifferMessage& message) const;
  // Drops the history of a team that has ended here.
  void Forget(TeamId team) { histories_.erase(team); }

 private:
  const CallHistory* Find(TeamId team) const;

  PeerLink* const link_;
  const std::string* const node_;
  std::map<TeamId, CallHistory> histories_;  // each includes the calls of the derived teams
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALL_ORDER_H_
