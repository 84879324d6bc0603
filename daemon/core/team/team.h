// SPDX-License-Identifier: Apache-2.0
//
// One team at this node: its members here, its epochs, its calls, and its end.
#ifndef COPSE_DAEMON_CORE_TEAM_TEAM_H_
#define COPSE_DAEMON_CORE_TEAM_TEAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/calls/call_record.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/team/call_window.h"
#include "daemon/core/team/epoch_switch.h"
#include "daemon/core/team/leavers.h"
#include "daemon/core/team/team_edges.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team/team_members.h"
#include "offload_emu/engine.h"
#include "protocol/control.h"

namespace copse::daemon {

// A Team lives from its first Prepare until all its members here have left, or its formation is aborted. Its state is
// that of its parts: no committed epoch: forming; `broken()`: every call ends with that failure; else ready. The parts
// do the work; the team joins them, speaks with its neighbors, and breaks.
// Thread-compatible; `*engine` and `*host` outlive it.
class Team : private TeamBreaker {
 public:
  // The team is on `*ready` while Pump has work; like the others it outlives the team.
  Team(emu::Engine* engine, TeamHost* host, schedule::TeamLayout layout, NodeIndex self, ReadyTeams* ready);

  const schedule::TeamLayout& layout() const { return members_.layout(); }
  const TeamMembers& members() const { return members_; }
  TeamId id() const { return members_.id(); }
  bool ready() const { return epochs_.ready(); }
  const std::optional<schedule::FailureReport>& broken() const { return calls_.ended(); }
  EpochId epoch() const { return epochs_.epoch(); }
  EpochId prepared_epoch() const { return epochs_.prepared_epoch(); }
  std::vector<std::string> EncodedPlans() const { return epochs_.EncodedPlans(); }

  // --- The planner's decisions: as EpochSwitch has them ---
  schedule::PrepareReply Prepare(EpochId epoch, const std::vector<std::string>& encoded_plans);
  absl::Status Commit(EpochId epoch, CallSeq first_call, const std::vector<schedule::EdgeLabel>& outgoing);
  void Abort(EpochId epoch);
  // A prepared epoch has waited for `age` without a decision: asks the neighbors in it, which take a node that is
  // silent in an epoch of theirs for lost. True if the planner should be asked; of a first epoch it tells by itself.
  bool AskForDecision(absl::Duration age);

  // --- Members ---
  void Join(Rank rank, ClientId client) { members_.Join(rank, client); }
  // The member destroys the team; calls of it in flight are told nothing more. A call that others have begun without
  // it breaks the team, at once or when they do. True if no member is left here.
  bool Leave(Rank rank);

  // --- Calls ---
  // `post` was validated. Answered by exactly one event.
  void Post(Rank rank, CallPost&& post, uint32_t pending_max) {
    calls_.Post(members_.LocalIndex(rank), std::move(post), pending_max);
  }
  // Handles what the engine reported since the last time. True if there was anything.
  bool Pump();
  // Calls older than `age` compare arguments with the neighbors, at most once in `age`. True if there were any.
  bool ProbeStalled(absl::Duration age);
  bool IsHeld() const { return calls_.IsHeld(); }
  bool HasRoom(Rank rank, uint32_t pending_max) const { return calls_.HasRoom(members_.LocalIndex(rank), pending_max); }
  bool HasCallInFlight() const { return calls_.HasCallInFlight(); }
  bool HasCallInFlight(Rank rank) const { return calls_.HasCallInFlight(members_.LocalIndex(rank)); }

  // --- The end ---
  // Notifies every call in flight and all later ones; the break goes on along the edges, except back to `from`. Once;
  // later ones are ignored.
  void Break(const schedule::FailureReport& why, std::optional<Incarnation> from);
  void Break(const schedule::FailureReport& why) override { Break(why, std::nullopt); }
  // Breaks the team if the lost daemon is one of its nodes. `why`: what happened to the node; its name and its ranks
  // are added.
  void OnNodeLost(Incarnation incarnation, const schedule::FailureReport& why);
  // This node's daemon stood still for `silent`, and `by` has given it up.
  void OnSelfLost(Incarnation by, absl::Duration silent);

  // --- Neighbors ---
  // A message of a node that is no member is ignored.
  void OnPeerMessage(Incarnation from, const PeerMessage& message);
  bool HasEdgeTo(Incarnation incarnation) const;  // to send and to listen for heartbeats
  std::vector<Incarnation> Neighbours() const { return edges_.Neighbours(); }

  void AppendStatus(schedule::DaemonStatus* status) const { calls_.AppendStatus(status); }
  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  void On(NodeIndex from, const BreakMessage& message);
  void On(NodeIndex from, const ArgumentsMessage& message);
  void On(NodeIndex from, const LeftMessage& message);
  void On(NodeIndex from, const EpochAskMessage& message);
  void On(NodeIndex from, const EpochAnswerMessage& message);
  template <typename Other>
  void On(NodeIndex, const Other&) {}  // of no team

  void OnMismatch(const PortEvent& event);
  void SendArguments(NodeIndex node, const CallRecord& call);
  void CheckLeavers();

  TeamHost* const host_;
  ReadyTeams::Entry ready_;  // before the ports, which mark it
  TeamMembers members_;
  TeamEdges edges_;
  EpochSwitch epochs_;
  Leavers leavers_;
  CallWindow calls_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_TEAM_H_
