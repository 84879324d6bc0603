// SPDX-License-Identifier: Apache-2.0
//
// The epochs of a team at this node: which run, which one is prepared, and from which call on the next one counts
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

// What the switch uses of its team. All outlive it.
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
  // Verifies and reserves; `started`: calls that some rank here has started. Repeats the answer for the epoch that is
  // prepared already.
  schedule::PrepareReply Prepare(EpochId epoch, const std::vector<std::string>& encoded_plans, CallSeq started,
                                 absl::Time now);
  // FAILED_PRECONDITION: it is not prepared. INVALID_ARGUMENT: a label of no neighbor, or a first call that has begun.
  absl::Status Commit(EpochId epoch, CallSeq first_call, CallSeq started,
                      const std::vector<schedule::EdgeLabel>& outgoing);
  // True if that epoch was prepared.
  bool Abort(EpochId epoch);

  // --- The neighbors' word, where the planner's is missing ---
  // Nodes to ask about the prepared epoch if it has waited for `age` since it was prepared or they were asked last:
  // each of them knows the label that it issued for this node, and perhaps the decision. Nothing: it is not time to
  // ask.
  std::optional<std::vector<uint32_t>> TakeNodesToAsk(absl::Time now, absl::Duration age);
  EpochAnswerMessage Answer(const EpochAskMessage& message, NodeIndex asker) const;
  // The first call, once a neighbor has told that the epoch is committed and all labels are known: to be committed.
  std::optional<CallSeq> OnAnswer(const EpochAnswerMessage& message, NodeIndex from);

  // --- Calls ---
  // Whether the prepared epoch holds the call back.
  bool Holds(CallSeq sequence) const { return prepared_ && sequence >= prepared_->hold_from; }
  // The port where a call of this number begins. An epoch is committed.
  EpochPort& PortFor(CallSeq sequence) const;
  // Null: it has not begun here, or is forgotten.
  const CallRecord* Find(CallSeq sequence) const;
  // Ends epochs whose calls are over.
  void Retire();
  // The team is broken.
  void Clear();

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  struct Prepared {
    std::unique_ptr<EpochPort> port;
    absl::Time asked;                // or prepared
    CallSeq hold_from{0};            // nothing of the running epoch starts from here on
    std::optional<CallSeq> decided;  // the first call, by a neighbor's word, while labels are missing
  };

  const EpochParts parts_;
  std::vector<std::unique_ptr<EpochPort>> epochs_;  // committed
  std::optional<Prepared> prepared_;
  std::unique_ptr<const CallRecords> retired_;  // calls of the epoch that ended last
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_EPOCH_SWITCH_H_
