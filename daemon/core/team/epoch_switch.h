// SPDX-License-Identifier: Apache-2.0
//
// The epochs of a team at this node: the committed ones, the prepared one, and the call with which each begins
// (docs/decisions/two-phase-epoch-switch.md).
#ifndef COPSE_DAEMON_CORE_TEAM_EPOCH_SWITCH_H_
#define COPSE_DAEMON_CORE_TEAM_EPOCH_SWITCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/calls/call_record.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/team/epoch_port.h"
#include "daemon/core/team/team_edges.h"
#include "daemon/core/team/team_members.h"
#include "offload_emu/engine.h"
#include "protocol/control.h"

namespace copse::daemon {

// Parts of the team that the switch uses. All outlive it.
struct EpochParts {
  emu::Engine* engine = nullptr;
  const TeamMembers* members = nullptr;
  TeamEdges* edges = nullptr;
  ReadyTeams::Entry* ready = nullptr;
  Instruments* instruments = nullptr;  // null: none
};

// An EpochSwitch owns the ports of the team's epochs. At most one epoch is prepared at a time; until it is committed or
// aborted no call of the running one starts beyond `S + W`, S being the calls started when it was prepared, so that all
// nodes can begin it with the same call. Thread-compatible.
//
// Invariant: the first calls of committed epochs ascend; all epochs but the last only end calls that they have begun.
class EpochSwitch {
 public:
  explicit EpochSwitch(const EpochParts& parts) : parts_(parts) {}

  bool ready() const { return !epochs_.empty(); }
  EpochId epoch() const { return epochs_.empty() ? EpochId(0) : epochs_.back()->epoch(); }
  EpochId prepared_epoch() const { return prepared_ ? prepared_->port->epoch() : EpochId(0); }
  const std::vector<std::unique_ptr<EpochPort>>& ports() const { return epochs_; }
  // Encoded plans of the newest committed epoch.
  std::vector<std::string> EncodedPlans() const;

  // --- The planner's decisions ---
  // Verifies the plans and reserves their resources. `started`: number of calls that some rank here has started. For
  // the epoch that is prepared already, it repeats the reply.
  schedule::PrepareReply Prepare(EpochId epoch, const std::vector<std::string>& encoded_plans, CallSeq started,
                                 absl::Time now);
  // FAILED_PRECONDITION: it is not prepared. INVALID_ARGUMENT: a label from a node that is no neighbor, or a first call
  // that has begun, or that is not 0 in the first epoch.
  absl::Status Commit(EpochId epoch, CallSeq first_call, CallSeq started,
                      const std::vector<schedule::EdgeLabel>& outgoing);
  // Returns true if that epoch was prepared.
  bool Abort(EpochId epoch);

  // --- The neighbors' answers, when the planner's message is missing ---
  // Returns the nodes to ask about the prepared epoch, if `age` has passed since it was prepared or they were asked
  // last; else nothing. Each of them has the label that it issued for this node, and perhaps the decision.
  std::optional<std::vector<uint32_t>> TakeNodesToAsk(absl::Time now, absl::Duration age);
  EpochAnswerMessage Answer(const EpochAskMessage& message, NodeIndex asker) const;
  // Returns the first call once a neighbor has said that the epoch is committed and all labels are known: Commit is
  // next.
  std::optional<CallSeq> OnAnswer(const EpochAnswerMessage& message, NodeIndex from);

  // --- Calls ---
  // Whether the prepared epoch holds the call back.
  bool Holds(CallSeq sequence) const { return prepared_ && sequence >= prepared_->hold_from; }
  // Returns the port where a call of this number begins. Requires ready().
  EpochPort& PortFor(CallSeq sequence) const;
  // Null: the call has not begun here, or is not kept any more.
  const CallRecord* Find(CallSeq sequence) const;
  // Ends the epochs whose calls are over.
  void Retire();
  // The team is broken.
  void Clear();

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  struct Prepared {
    std::unique_ptr<EpochPort> port;
    absl::Time asked;                // time of the last question, or of Prepare
    CallSeq hold_from{0};            // calls of the running epoch from this one on do not start
    std::optional<CallSeq> decided;  // the first call, from a neighbor, while labels are missing
  };

  const EpochParts parts_;
  std::vector<std::unique_ptr<EpochPort>> epochs_;  // committed
  std::optional<Prepared> prepared_;
  std::unique_ptr<const CallRecords> retired_;  // calls of the epoch that ended last
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_EPOCH_SWITCH_H_
