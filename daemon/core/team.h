// SPDX-License-Identifier: Apache-2.0
//
// One team at this node: its members here, its epochs, its calls, and its end.
#ifndef COPSE_DAEMON_CORE_TEAM_H_
#define COPSE_DAEMON_CORE_TEAM_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/client_interface.h"
#include "daemon/core/epoch_port.h"
#include "daemon/core/instruments.h"
#include "daemon/core/peer_messages.h"
#include "offload_emu/engine.h"
#include "protocol/control.h"

namespace copse::daemon {

// What a team needs of its daemon.
class TeamHost {
 public:
  virtual ~TeamHost() = default;
  virtual absl::Time Now() const = 0;
  // When the engine's events that are being handled were taken, or a little later: no look at the clock.
  virtual absl::Time EventTime() const = 0;
  virtual Instruments* instruments() const = 0;  // null: none
  virtual void Tell(ClientId client, const ClientEvent& event) = 0;
  virtual void SendToPeer(Incarnation peer, const PeerMessage& message) = 0;
  virtual absl::Status AcquireNeighbour(const schedule::TeamNode& node) = 0;
  virtual void ReleaseNeighbour(Incarnation peer) = 0;
  // Once per team, after its clients were told.
  virtual void OnTeamBroken(TeamId team, const schedule::FailureReport& why) = 0;
};

// A Team lives from its first Prepare until all its members here have left, or its formation is aborted. Its state is
// that of its parts: no committed epoch: forming; `broken()`: every call ends with that failure; else ready.
// Thread-compatible; `*engine` and `*host` outlive it.
class Team {
 public:
  // The team is on `*ready` while Pump has work; like the others it outlives the team.
  Team(emu::Engine* engine, TeamHost* host, schedule::TeamLayout layout, NodeIndex self, ReadyTeams* ready);
  ~Team();

  const schedule::TeamLayout& layout() const { return layout_; }
  TeamId id() const { return layout_.id; }
  NodeIndex self() const { return self_; }
  bool ready() const { return !epochs_.empty(); }
  const std::optional<schedule::FailureReport>& broken() const { return broken_; }
  EpochId epoch() const { return epochs_.empty() ? EpochId(0) : epochs_.back()->epoch(); }
  EpochId prepared_epoch() const { return prepared_ == nullptr ? EpochId(0) : prepared_->epoch(); }

  // --- Epochs (DESIGN, decision 7) ---
  // Verifies and reserves. On success the team starts no call beyond S + W until Commit or Abort. Preparing the epoch
  // that is prepared already repeats the answer.
  schedule::PrepareReply Prepare(EpochId epoch, const std::vector<std::string>& encoded_plans);
  absl::Status Commit(EpochId epoch, CallSeq first_call, const std::vector<schedule::EdgeLabel>& outgoing);
  void Abort(EpochId epoch);
  // Encoded plans of the committed epoch.
  std::vector<std::string> EncodedPlans() const;
  // A prepared epoch has waited for `age` without a decision: asks the neighbours in it, who take a node that is silent
  // in an epoch of theirs for lost. True if the planner should be asked; of a first epoch it tells by itself.
  bool AskForDecision(absl::Duration age);
  // Whether calls wait for that decision: as long as it takes.
  bool IsHeld() const;

  // --- Members ---
  void Join(Rank rank, ClientId client);
  // The member destroys the team; calls of it in flight are told nothing more. A call that others have begun without
  // it breaks the team, at once or when they do. True if no member is left here.
  bool Leave(Rank rank);
  std::optional<ClientId> ClientOf(Rank rank) const;

  // --- Calls ---
  // `post` was validated. Answered by exactly one Tell.
  void Post(Rank rank, const CallPost& post, uint32_t pending_max);
  // Handles what the engine reported since the last time. True if there was anything.
  bool Pump();
  // Calls older than `age` compare arguments with the neighbours, at most once in `age`. True if there were any.
  bool ProbeStalled(absl::Duration age);
  // Whether another call of the rank may wait.
  bool HasRoom(Rank rank, uint32_t pending_max) const {
    return members_[LocalIndex(rank)].pending.size() < pending_max;
  }
  bool HasCallInFlight() const;
  bool HasCallInFlight(Rank rank) const;  // of this member here

  // --- The end ---
  // Tells every call in flight and all later ones; sweeps along the edges, except back to `from`. Once; later ones are
  // ignored.
  void Break(const schedule::FailureReport& why, std::optional<Incarnation> from = std::nullopt);
  // By two ranks whose calls of one number differ.
  void BreakMismatch(CallSeq sequence, Rank rank_a, const std::string& node_a, const CallArguments& a, Rank rank_b,
                     const std::string& node_b, const CallArguments& b);
  // Breaks the team if the lost daemon is one of its nodes.
  // `why`: what happened to the node; which one, and its ranks, is added.
  void OnNodeLost(Incarnation incarnation, const schedule::FailureReport& why);
  // This node's daemon stood still for `silent`, and `by` has given it up.
  void OnSelfLost(Incarnation by, absl::Duration silent);

  // --- From neighbours ---
  void OnPeerMessage(Incarnation from, const PeerMessage& message);

  void AppendStatus(schedule::DaemonStatus* status) const;
  // "rank 3 on node n2", "ranks 2-3 on node n2".
  std::string DescribeNode(NodeIndex node) const;
  bool HasEdgeTo(Incarnation incarnation) const;  // to send and to listen for heartbeats
  std::vector<Incarnation> Neighbours() const;    // to whom it has edges

 private:
  struct Member {
    Rank rank{0};
    std::optional<ClientId> client;
    CallSeq next{0};  // the call that it starts next
    // Posted and not started, or not all chunks of the first one; a deque holds memory even when empty.
    std::list<HeldPost> pending;
    std::optional<CallSeq> long_call;  // the first one's, by its first chunk, once it has begun
    uint32_t under_way = 0;            // calls that have begun and were not told
  };
  // What a call's arguments were, kept for a while after its end for neighbours that ask.
  struct Remembered {
    CallSeq sequence{0};
    CallArguments arguments;
    Rank rank{0};
    // In one word: there are two windows of these a team.
    uint32_t chunk : 31 = 0;  // of a long call
    uint32_t known : 1 = 0;

    // The call's number, which its ranks know, not its chunk's.
    CallSeq Call() const { return CallSeq(sequence.value() - chunk); }
  };

  // A call of several chunks, and where all of them run.
  struct LongRun {
    EpochPort* port = nullptr;
    std::unique_ptr<LongCall> call;
  };

  EpochPort& PortFor(CallSeq sequence) const;
  CallSeq Started() const;  // S: calls that some member here has started
  uint32_t LocalIndex(Rank rank) const { return shape_.LocalIndexOf(rank); }
  void StartPending();
  bool MayStart(uint32_t local, const CallPost& next) const;  // its next call
  void Start(uint32_t local, const HeldPost& held, absl::Time now);
  // The next chunk of the member's first pending call, which leaves the list with its last one.
  void StartChunk(uint32_t local, absl::Time now);
  // The member joins that call. False if it cannot: the team is broken then.
  bool BeginLong(uint32_t local);
  // True if this is the first rank here that comes to this number.
  bool Remember(CallSeq sequence, const CallArguments& arguments, Rank rank, uint64_t chunk = 0);
  void RefuseStart(uint32_t local, const HeldPost& held, CallSeq sequence, const absl::Status& why);
  void OnChunkDone(LongCall* call, uint32_t local, bool failed);
  void OnChunkOver(CallSeq first, uint64_t chunk);
  void TellLong(LongCall* call, uint32_t local);
  void Handle(EpochPort* port, const PortEvent& event);
  void RetireEpochs();
  void TellFailure(const Member& member, uint64_t value, CallSeq sequence, const CallArguments& arguments,
                   const schedule::FailureReport& why);
  // Of a call that has ended for a rank here.
  void NoteEnd(const Member& member, CallSeq sequence, const CallArguments& arguments, schedule::Failure failure);
  void FinishIfDone(EpochPort* port, CallSeq sequence);
  const Remembered* Recall(CallSeq sequence) const;
  void AcquireEdges(const EpochPort& port);
  void ReleaseEdges(const EpochPort& port);
  void OnBreak(Incarnation from, const BreakMessage& message);
  void OnArguments(const ArgumentsMessage& message);
  void OnLeft(Incarnation from, const LeftMessage& message);
  void OnEpochAsk(Incarnation from, const EpochAskMessage& message);
  void OnEpochAnswer(Incarnation from, const EpochAnswerMessage& message);
  std::optional<NodeIndex> NodeOf(Incarnation incarnation) const;
  // Nothing, too, if it is this node or has left.
  std::optional<NodeIndex> OtherMember(Incarnation incarnation) const;
  bool HasLeft(uint32_t node) const;  // with all its ranks
  void CheckLeavers();

  emu::Engine* const engine_;
  TeamHost* const host_;
  ReadyTeams::Entry ready_;  // before the ports, which mark it
  const schedule::TeamLayout layout_;
  const NodeIndex self_;
  const schedule::ShapeIndex shape_;
  std::vector<Member> members_;  // by local index
  std::vector<std::unique_ptr<EpochPort>>
      epochs_;  // committed, ascending; all but the last only until their calls are over
  std::unique_ptr<EpochPort> prepared_;
  absl::Time prepared_at_;
  CallSeq hold_from_{0};                       // while prepared_: nothing of the old epoch starts from here on
  std::optional<CallSeq> decided_first_call_;  // told by a neighbour, while labels are still missing
  std::map<uint32_t, LeftMessage> left_;       // by node: ranks that have left, here too
  std::map<uint32_t, CallSeq> unlike_;         // nodes whose packets for a call have other arguments than this node's
  std::map<uint32_t, uint32_t> acquired_;      // by node: edges of committed epochs
  std::optional<schedule::FailureReport> broken_;
  std::vector<Remembered> history_;
  std::map<CallSeq, LongRun> long_calls_;  // in flight, by their first chunks
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_H_
