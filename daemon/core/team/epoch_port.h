// SPDX-License-Identifier: Apache-2.0
//
// One epoch of a team at this node: its plans, its port in the engine, and the calls that run there.
#ifndef COPSE_DAEMON_CORE_TEAM_EPOCH_PORT_H_
#define COPSE_DAEMON_CORE_TEAM_EPOCH_PORT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/calls/call_record.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/team/long_call.h"
#include "daemon/core/team/plan_expansions.h"
#include "daemon/core/team/port_edges.h"
#include "daemon/core/team/ready_list.h"
#include "offload_emu/engine.h"
#include "protocol/control.h"
#include "schedule/lower.h"

namespace copse::daemon {

class Team;
using ReadyTeams = ReadyList<Team>;

// An event at an EpochPort. They come in the order in which the engine reported them.
struct PortEvent {
  enum class Kind : uint8_t { kRankDone, kNodeDone, kMismatch };
  Kind kind = Kind::kNodeDone;
  CallSeq sequence{0};     // number in the team (kMismatch: the call that the packet seems to mean)
  uint32_t local = 0;      // kRankDone: local index
  NodeIndex neighbour{0};  // kMismatch: the sender of the packet
  bool failed = false;
};

// An EpochPort gives the engine numbers from 0 (its epoch's first call) on, so packets of a new epoch may arrive before
// the number of its first call in the team is known here. Every epoch has a port of its own: labels, counters, credits
// and pools of two epochs never mix, and the old port closes when its last call is over.
//
// Order of calls: Open, (SetFirstCall, SetRemoteLabel)*, then for each call Begin, Start for each rank, RankNotified
// for each kRankDone that TakeEvents reports, and FinishIfDone. Thread-compatible; `*engine` and `*shape` outlive it.
class EpochPort : public emu::PortSink {
 public:
  // Reserves everything that the plans can need; they were verified before. Errors name the resource. The port marks
  // `*ready`, which outlives it, whenever TakeEvents would return something new.
  static absl::StatusOr<std::unique_ptr<EpochPort>> Open(emu::Engine* engine, const schedule::ShapeIndex* shape,
                                                         const schedule::TeamLayout& layout, NodeIndex self,
                                                         EpochId epoch, std::vector<schedule::Plan> plans,
                                                         ReadyTeams::Entry* ready, Instruments* instruments = nullptr);
  ~EpochPort() override;

  EpochId epoch() const { return epoch_; }
  const PortEdges& edges() const { return edges_; }
  absl::Status SetRemoteLabel(NodeIndex node, uint32_t label) { return edges_.SetRemoteLabel(*port_, node, label); }
  const PlanExpansions& plans() const { return expansions_; }
  PlanExpansions& plans() { return expansions_; }

  void SetFirstCall(CallSeq first);
  CallSeq first_call() const { return first_call_; }

  // --- Calls ---
  const CallRecords& calls() const { return calls_; }
  CallRecords TakeCalls() { return std::move(calls_); }  // the port ends next
  // Whether call `sequence` has its slot, or a free one.
  bool HasSlot(CallSeq sequence) const { return Relative(sequence) < engine_->Finished(*port_).value() + window_; }
  // The first rank here starts a call that has a slot. The call is chunk `chunk` of `*long_call`, which outlives it,
  // unless that is null.
  CallRecord* Begin(CallSeq sequence, const RankArguments& first, absl::Time now, LongCall* long_call = nullptr,
                    uint32_t chunk = 0) {
    return calls_.Begin(sequence, chunk, first, long_call, now);
  }
  // Local rank `local` takes part in the call. FAILED_PRECONDITION: its arguments differ from the first rank's, and
  // nothing was started. Other errors are the engine's.
  absl::Status Start(CallRecord* call, uint32_t local, const CallPost& post);
  // Call `sequence`, which is in the window, runs at another port: frees its slot here.
  void Skip(CallSeq sequence);
  // Moves the events since the last TakeEvents, which Start and the engine's Progress produced, to `*events`. The
  // memory of
  // `*events` is reused in turn.
  void TakeEvents(std::vector<PortEvent>* events);
  // Rank `local` of the call was notified, `now`.
  void RankNotified(CallRecord* call, uint32_t local, absl::Time now, bool failed);
  // Ends the call if its node part and all its ranks are done. Returns true if it did.
  bool FinishIfDone(CallRecord* call, absl::Time now);
  // All calls of the team below this number are over here.
  CallSeq FinishedBelow() const;
  // Number of long calls that began here. Their later chunks run here, too, so the port stays.
  uint32_t long_calls() const { return long_calls_; }
  void LongCallBegun() { ++long_calls_; }
  void LongCallOver() { --long_calls_; }
  // Neighbors in the call's plan.
  std::vector<NodeIndex> NeighboursOfCall(const CallRecord& call) const;

  void OnEvent(emu::PortId port, uint64_t value, bool failed) override;
  void OnMismatch(emu::PortId port, uint32_t edge, uint16_t sequence, uint16_t hash) override;

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  EpochPort(emu::Engine* engine, const schedule::ShapeIndex* shape, NodeIndex self, EpochId epoch,
            const schedule::TeamLayout& layout, std::vector<schedule::Plan> plans, ReadyTeams::Entry* ready,
            Instruments* instruments);

  absl::Status OpenPort(const schedule::TeamLayout& layout);
  uint64_t Relative(CallSeq sequence) const { return sequence.value() - first_call_.value(); }
  uint32_t SlotOf(CallSeq sequence) const { return static_cast<uint32_t>(Relative(sequence) & (window_ - 1)); }
  schedule::PortMap MapFor(const CallRecord& call) const;
  // Values of the engine's events of the call.
  uint64_t NodeEvent(const CallRecord& call) const;
  uint64_t RankEvent(const CallRecord& call, uint32_t local) const;
  // Arguments for the lowering: the call's, or its chunk's.
  static CallArguments ArgumentsOf(const CallRecord& call);
  absl::StatusOr<schedule::Sequences> SequencesOf(const CallRecord& call, const schedule::Plan& plan) {
    return expansions_.SequencesOf(plan, call.arguments(), call.chunk);
  }
  // Arms the node's part and the ranks', once all ranks here have posted.
  absl::Status ArmBlocks(CallRecord* call, const schedule::Plan& plan);
  absl::Status ArmNode(const CallRecord& call, const schedule::Plan& plan);
  absl::Status BindRank(const CallRecord& call, uint32_t local, const CallPost& post);
  absl::Status ArmRank(const CallRecord& call, const schedule::Plan& plan, uint32_t local);
  absl::Status Post(uint32_t slot, schedule::LoweredCall* lowered);
  void UnbindRanks(const CallRecord& call);

  emu::Engine* const engine_;
  const NodeIndex self_;
  const EpochId epoch_;
  const TeamId team_;
  const uint32_t window_;
  const uint32_t local_ranks_;
  const uint32_t ranks_;  // of the team
  PlanExpansions expansions_;
  PortEdges edges_;
  std::optional<emu::PortId> port_;  // set once it is open
  uint32_t counters_per_slot_ = 0;
  CallSeq first_call_{0};
  CallRecords calls_;
  uint32_t long_calls_ = 0;
  // Inline contributions, by slot and local index, kept while the engine may read them. Empty before the first one.
  std::vector<std::array<uint8_t, kInlineBytesMax>> inline_data_;
  // Copy lists of the calls in flight, by slot. Empty before the first one.
  std::vector<std::vector<emu::CopyRun>> runs_;
  std::vector<PortEvent> events_;
  ReadyTeams::Entry* const ready_;
  Instruments* const instruments_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_EPOCH_PORT_H_
