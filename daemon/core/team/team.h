// SPDX-License-Identifier: Apache-2.0
//
// Defines a team at one node: its members there, its epochs, its calls, and its end.
#ifndef COPSE_DAEMON_CORE_TEAM_TEAM_H_
#define COPSE_DAEMON_CORE_TEAM_TEAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "base/shared.h"
#include "daemon/accounts/accounts.h"
#include "daemon/core/calls/call_record.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/team/call_window.h"
#include "daemon/core/team/epoch_switch.h"
#include "daemon/core/team/indexed_layout.h"
#include "daemon/core/team/leavers.h"
#include "daemon/core/team/team_edges.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team/team_members.h"
#include "daemon/core/team/verified_plans.h"
#include "offload_emu/engine.h"
#include "protocol/control.h"

namespace copse::daemon {

// A Team exists from its first Prepare until all its members here have left, or its formation is aborted. It is forming
// until an epoch is committed, then ready(). If it becomes broken(), every call fails with that report. Its parts do
// the work; the team connects them, and exchanges messages with its neighbors.
// Thread-compatible; `*engine` and `*host` must outlive it.
class Team : private TeamBreaker {
 public:
  // The team marks itself on `*ready`, which must outlive it, when Pump has work.
  // `held` counts it; the account is charged for its memory in the engine.
  Team(emu::Engine* engine, TeamHost* host, SharedLayout layout, NodeIndex self, ReadyTeams* ready,
       Account::Holding held);

  // Returns null if nobody is charged.
  Account* account() const { return held_.account(); }

  const schedule::TeamLayout& layout() const { return members_.layout(); }
  const SharedLayout& shared_layout() const { return members_.shared_layout(); }
  const TeamMembers& members() const { return members_; }
  TeamId id() const { return members_.id(); }
  // Returns the number of the trace's first record that can be this team's.
  uint64_t first_record() const { return first_record_; }
  bool ready() const { return epochs_.ready(); }
  const std::optional<schedule::FailureReport>& broken() const { return calls_.ended(); }
  EpochId epoch() const { return epochs_.epoch(); }
  EpochId prepared_epoch() const { return epochs_.prepared_epoch(); }
  Shared<std::vector<std::string>> EncodedPlans() const { return epochs_.EncodedPlans(); }
  // Returns the edges of the newest committed epoch if all their labels are known, else null.
  const PortEdges* LabeledEdges() const;
  // Returns the plans of the prepared epoch, or else of the newest committed one; null: there is neither.
  std::shared_ptr<const VerifiedPlans> plans() const { return epochs_.plans(); }

  // --- The planner's decisions (see EpochSwitch) ---
  schedule::PrepareReply Prepare(EpochId epoch, const absl::StatusOr<std::shared_ptr<const VerifiedPlans>>& plans,
                                 const PortEdges* like = nullptr);
  absl::Status Commit(EpochId epoch, CallSeq first_call, const std::vector<schedule::EdgeLabel>& outgoing);
  void Abort(EpochId epoch);
  // Asks the neighbors for the decision if a prepared epoch has waited for `age` since Prepare or the last question.
  // Returns true if the planner should be asked, too; the decision on a first epoch it sends without being asked.
  bool AskForDecision(absl::Duration age);

  // --- Members ---
  void LearnAddresses(const SharedLayout& layout) { members_.LearnAddresses(layout); }
  void Join(Rank rank, ClientId client) { members_.Join(rank, client); }
  // The member leaves; its calls in flight get no more events. A call that other ranks start after this one's last call
  // breaks the team. Returns true if no member is left here.
  bool Leave(Rank rank);

  // --- Calls ---
  // `post` was validated. It gets exactly one event, unless the rank leaves before.
  void Post(Rank rank, CallPost&& post, uint32_t pending_max) {
    calls_.Post(members_.LocalIndex(rank), std::move(post), pending_max);
  }
  // Handles the engine's events since the last Pump. Returns true if there were any.
  bool Pump();
  // Sends the arguments of calls that have waited for `age`, since their start or the last time, to the neighbors,
  // which compare them. Returns true if there were any.
  bool ProbeStalled(absl::Duration age);
  bool IsHeld() const { return calls_.IsHeld(); }
  bool HasRoom(Rank rank, uint32_t pending_max) const { return calls_.HasRoom(members_.LocalIndex(rank), pending_max); }
  bool HasCallInFlight() const { return calls_.HasCallInFlight(); }
  bool HasCallInFlight(Rank rank) const { return calls_.HasCallInFlight(members_.LocalIndex(rank)); }

  // --- The end ---
  // Ends every call in flight and all later ones with `why`, and sends the break to all neighbors except `from`. Does
  // nothing if the team is broken already.
  void Break(const schedule::FailureReport& why, std::optional<Incarnation> from);
  void Break(const schedule::FailureReport& why) override { Break(why, std::nullopt); }
  // Breaks the team if the lost daemon is another node of it that has not left. `why` has the reason, to which the team
  // adds the node's name and ranks.
  void OnNodeLost(Incarnation incarnation, const schedule::FailureReport& why);
  // Breaks the team if the daemon `by` is another node of it that has not left: `by` has given up this node, whose
  // daemon did not run for `silent`.
  void OnSelfLost(Incarnation by, absl::Duration silent);

  // --- Neighbors ---
  // Ignores messages from nodes that are not in the team.
  void OnPeerMessage(Incarnation from, const PeerMessage& message);
  // Returns whether the node is a neighbor in a committed epoch. Heartbeats are sent to neighbors only.
  bool HasEdgeTo(Incarnation incarnation) const;
  std::vector<Incarnation> Neighbors() const { return edges_.Neighbors(); }

  void AppendStatus(schedule::DaemonStatus* status) const { calls_.AppendStatus(status); }
  void AppendPlanCalls(std::vector<schedule::PlanCalls>* counts) const { calls_.AppendPlanCalls(counts); }
  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  void On(NodeIndex from, const BreakMessage& message);
  void On(NodeIndex from, const ArgumentsMessage& message);
  void On(NodeIndex from, const LeftMessage& message);
  void On(NodeIndex from, const EpochAskMessage& message);
  void On(NodeIndex from, const EpochAnswerMessage& message);
  template <typename Other>
  void On(NodeIndex, const Other&) {}  // other messages do not concern a team

  void OnMismatch(const PortEvent& event);
  // Breaks the team: the neighbor's call is not ours though their hashes are equal, or a daemon is at fault.
  void OnWrongArrival(const PortEvent& event, const WrongArrival& wrong);
  void SendArguments(NodeIndex node, const CallRecord& call);
  void CheckLeavers();

  TeamHost* const host_;
  const uint64_t first_record_;
  const Account::Holding held_;  // destroyed after the ports in `epochs_`, which give memory back
  ReadyTeams::Entry ready_;      // destroyed after the ports in `epochs_`, which mark it
  TeamMembers members_;
  TeamEdges edges_;
  EpochSwitch epochs_;
  Leavers leavers_;
  CallWindow calls_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_TEAM_H_
