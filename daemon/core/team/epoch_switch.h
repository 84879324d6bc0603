// SPDX-License-Identifier: Apache-2.0
//
// Keeps the epochs of a team at this node: the committed ones, the prepared one, and the call with which each begins
// (docs/decisions/two-phase-epoch-switch.md).
#ifndef COPSE_DAEMON_CORE_TEAM_EPOCH_SWITCH_H_
#define COPSE_DAEMON_CORE_TEAM_EPOCH_SWITCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "base/shared.h"
#include "daemon/core/calls/call_record.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/peers/peer_messages.h"
#include "daemon/core/team/epoch_port.h"
#include "daemon/core/team/team_edges.h"
#include "daemon/core/team/team_members.h"
#include "daemon/core/team/verified_plans.h"
#include "offload_emu/engine.h"
#include "offload_emu/memory_owner.h"
#include "protocol/control.h"

namespace copse::daemon {

// EpochParts are the parts of the team that an EpochSwitch uses. All must outlive it.
struct EpochParts {
  emu::Engine* engine = nullptr;
  const TeamMembers* members = nullptr;
  TeamEdges* edges = nullptr;
  ReadyTeams::Entry* ready = nullptr;
  Instruments* instruments = nullptr;  // null: none
  emu::MemoryOwner* owner = nullptr;   // is charged for the ports' memory; null: nobody
};

// An EpochSwitch owns the ports of the team's epochs. At most one epoch is prepared at a time. Until it is committed or
// aborted, only calls below S + W start, where S is the number of calls that had started when it was prepared, and W
// the window. So all nodes can begin the epoch with the same call. Thread-compatible.
//
// Invariant: the first calls of committed epochs never descend. A call begins in the newest epoch whose first call is
// not above its number, except the later chunks of a long call, which run in the epoch of the first one.
class EpochSwitch {
 public:
  explicit EpochSwitch(const EpochParts& parts) : parts_(parts) {}

  bool ready() const { return !epochs_.empty(); }
  EpochId epoch() const { return epochs_.empty() ? EpochId(0) : epochs_.back()->epoch(); }
  EpochId prepared_epoch() const { return prepared_ ? prepared_->port->epoch() : EpochId(0); }
  const std::vector<std::unique_ptr<EpochPort>>& ports() const { return epochs_; }
  // Returns the encoded plans of the newest committed epoch; without one, none.
  Shared<std::vector<std::string>> EncodedPlans() const;
  // Returns the plans of the prepared epoch, or else of the newest committed one; null: there is neither.
  std::shared_ptr<const VerifiedPlans> plans() const;

  // --- The planner's decisions ---
  // Reserves the resources of the plans, in place of an epoch that was prepared before. The reply says why if the epoch
  // is refused. `plans`: or why they are not valid. `started`: number of calls that any rank here has started. If this
  // epoch is prepared already, only returns the reply again. `like`: see PortEdges::Open.
  schedule::PrepareReply Prepare(EpochId epoch, const absl::StatusOr<std::shared_ptr<const VerifiedPlans>>& plans,
                                 CallSeq started, absl::Time now, const PortEdges* like = nullptr);
  // Makes the prepared epoch the newest committed one; a repetition does nothing. FAILED_PRECONDITION: the epoch is not
  // prepared. INVALID_ARGUMENT: a label from a node that is no neighbor, a first call that has already started here, or
  // one other than 0 in the first epoch.
  absl::Status Commit(EpochId epoch, CallSeq first_call, CallSeq started,
                      const std::vector<schedule::EdgeLabel>& outgoing);
  // Drops the prepared epoch. Returns false if it is not this one.
  bool Abort(EpochId epoch);

  // --- The neighbors' answers, when the planner's message is missing ---
  // Returns the nodes to ask about the prepared epoch, if `age` has passed since it was prepared or they were last
  // asked; else nothing. Each of them knows the label that it issued for this node, and perhaps the decision.
  std::optional<std::vector<uint32_t>> TakeNodesToAsk(absl::Time now, absl::Duration age);
  // Returns what this node knows of the epoch that a neighbor has asked about.
  EpochAnswerMessage Answer(const EpochAskMessage& message, NodeIndex asker) const;
  // Records a neighbor's answer about the prepared epoch. Once a neighbor has the commit and all labels are known,
  // returns the epoch's first call, for Commit; until then nothing.
  std::optional<CallSeq> OnAnswer(const EpochAnswerMessage& message, NodeIndex from);

  // --- Calls ---
  // Returns whether the call must not start before the prepared epoch is decided.
  bool Holds(CallSeq sequence) const { return prepared_ && sequence >= prepared_->hold_from; }
  // Returns the port where a call of this number begins. Requires ready().
  EpochPort& PortFor(CallSeq sequence) const;
  // Returns null if the call has not begun here, or is not kept any more.
  const CallRecord* Find(CallSeq sequence) const;
  // Closes ports whose calls are all over, except the newest, in their order, and releases their edges.
  void Retire();
  // Closes all ports and releases their edges, since the team is broken.
  void Clear();

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  struct PreparedEpoch {
    std::unique_ptr<EpochPort> port;
    absl::Time asked;                // time of the last question to the neighbors, or of Prepare
    CallSeq hold_from{0};            // first call that must not start before the decision
    std::optional<CallSeq> decided;  // the epoch's first call, known from a neighbor, while labels are missing
  };

  const EpochParts parts_;
  std::vector<std::unique_ptr<EpochPort>> epochs_;  // committed
  std::optional<PreparedEpoch> prepared_;
  std::unique_ptr<const CallRecords> retired_;  // calls of the epoch that was retired last
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_EPOCH_SWITCH_H_
