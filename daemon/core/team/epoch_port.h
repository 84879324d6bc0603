// SPDX-License-Identifier: Apache-2.0
//
// Runs the calls of one epoch of a team at this node, by the epoch's plans, on a port of the engine.
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
#include "daemon/core/team/port_events.h"
#include "daemon/core/team/verified_plans.h"
#include "offload_emu/engine.h"
#include "offload_emu/memory_owner.h"
#include "protocol/control.h"
#include "schedule/lower.h"

namespace copse::daemon {

// An EpochPort numbers its calls for the engine from 0, the epoch's first call, so packets of a new epoch may arrive
// before that call's number in the team is known here. Every epoch has a port of its own: labels, counters, credits and
// eager buffers of two epochs never mix, and the old port closes when its last call is over.
//
// Order of calls: Open, (SetFirstCall, SetRemoteLabel)*, then for each call Begin, Start for each rank, RankNotified
// for each kRankDone that TakeEvents reports, and FinishIfDone. Thread-compatible; `*engine` and `*shape` must outlive
// it.
class EpochPort : public emu::PortSink {
 public:
  // Reserves everything that the plans can need. Errors name the resource. The port marks
  // `*ready`, which must outlive it, whenever TakeEvents would return something new. `like`: see PortEdges::Open.
  // `owner`: is charged for the memory, and must outlive the port; null: nobody.
  static absl::StatusOr<std::unique_ptr<EpochPort>> Open(emu::Engine* engine, const schedule::ShapeIndex* shape,
                                                         const schedule::TeamLayout& layout, NodeIndex self,
                                                         EpochId epoch, std::shared_ptr<const VerifiedPlans> plans,
                                                         ReadyTeams::Entry* ready, Instruments* instruments = nullptr,
                                                         const PortEdges* like = nullptr,
                                                         emu::MemoryOwner* owner = nullptr);
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
  // Moves the records out. The port must be destroyed next.
  CallRecords TakeCalls() { return std::move(calls_); }
  // Returns whether call `sequence` is in the window, so that its slot is free or its own.
  bool HasSlot(CallSeq sequence) const { return Relative(sequence) < engine_->Finished(*port_).value() + window_; }
  // Adds the record of a call that has a slot, for its first rank here. Unless `long_call` is null, the call is chunk
  // `chunk` of `*long_call`, which must outlive it.
  CallRecord* Begin(CallSeq sequence, const RankArguments& first, absl::Time now, LongCall* long_call = nullptr,
                    uint32_t chunk = 0) {
    return calls_.Begin(sequence, chunk, first, long_call, now);
  }
  // Local rank `local` takes part in the call. UNIMPLEMENTED: no plan fits. FAILED_PRECONDITION: the rank's arguments
  // differ from those of the first rank. In both cases nothing was started. After other errors, which are those of the
  // engine and of the plan's expansion, the rank may have joined.
  absl::Status Start(CallRecord* call, uint32_t local, const CallPost& post);
  // Frees the slot of call `sequence`, which is in the window here, but runs at another port.
  void Skip(CallSeq sequence);
  // Replaces the content of `*events` by the events since the last TakeEvents, which Start and Engine::Progress have
  // produced. The port reuses the former memory of `*events`.
  void TakeEvents(std::vector<PortEvent>* events) { events_.Take(events); }
  // Rank `local`, which has joined the call, receives its event at time `now`.
  void RankNotified(CallRecord* call, uint32_t local, absl::Time now, bool failed);
  // Ends the call if the node's part is done and all ranks here were notified: frees its slot, and unbinds the ranks'
  // buffers. Returns true if it did.
  bool FinishIfDone(CallRecord* call, absl::Time now);
  // Returns the number below which all calls of this epoch are over here.
  CallSeq FinishedBelow() const;
  // Returns the number of long calls in flight that began here. All their chunks run here, so the port must stay.
  uint32_t long_calls() const { return long_calls_; }
  void LongCallBegun() { ++long_calls_; }
  void LongCallOver() { --long_calls_; }
  // Returns the neighbors in the call's plan; none if no plan fits.
  std::vector<NodeIndex> NeighborsOfCall(const CallRecord& call) const;

  void OnEvent(emu::PortId port, uint64_t value, bool failed) override;
  void OnMismatch(emu::PortId port, uint32_t edge, uint16_t sequence, uint16_t hash) override;
  void OnWrongArrival(emu::PortId port, uint16_t sequence, const emu::Arrival& arrived,
                      const emu::Arrival* awaited) override;
  // Returns the message of the first kWrongArrival. Requires that there was one.
  const WrongArrival& wrong_arrival() const { return events_.wrong_arrival(); }

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  EpochPort(emu::Engine* engine, const schedule::ShapeIndex* shape, NodeIndex self, EpochId epoch,
            const schedule::TeamLayout& layout, std::shared_ptr<const VerifiedPlans> plans, ReadyTeams::Entry* ready,
            Instruments* instruments);

  absl::Status OpenPort(const schedule::TeamLayout& layout, const PortEdges* like, emu::MemoryOwner* owner);
  uint64_t Relative(CallSeq sequence) const { return sequence.value() - first_call_.value(); }
  uint32_t SlotOf(CallSeq sequence) const { return static_cast<uint32_t>(Relative(sequence) & (window_ - 1)); }
  schedule::PortMap MapFor(const CallRecord& call) const;
  // Return the values of the call's kEvent descriptors.
  uint64_t NodeEvent(const CallRecord& call) const;
  uint64_t RankEvent(const CallRecord& call, uint32_t local) const;
  // Returns the arguments for the lowering: those of the call, or of its chunk.
  static CallArguments ArgumentsOf(const CallRecord& call);
  absl::StatusOr<schedule::Sequences> SequencesOf(const CallRecord& call, const schedule::Plan& plan) {
    return expansions_.SequencesOf(plan, call.arguments(), call.chunk);
  }
  // Arms the node's part and the ranks' parts of a block collective. Requires that all ranks here have joined.
  absl::Status ArmBlocks(CallRecord* call, const schedule::Plan& plan);
  absl::Status ArmNode(const CallRecord& call, const schedule::Plan& plan);
  absl::Status BindRank(const CallRecord& call, uint32_t local, const CallPost& post);
  absl::Status ArmRank(const CallRecord& call, const schedule::Plan& plan, uint32_t local);
  // Tells the engine what belongs to the call, before its sequences are posted.
  absl::Status Expect(CallSeq sequence, uint16_t hash, const schedule::LoweredCall& lowered);
  void AddNeighborsEvent(PortEvent::Kind kind, uint32_t edge, uint16_t sequence);
  absl::Status Post(uint32_t slot, schedule::LoweredCall* lowered);
  void UnbindRanks(const CallRecord& call);

  emu::Engine* const engine_;
  const NodeIndex self_;
  const EpochId epoch_;
  const TeamId team_;
  const uint32_t window_;
  const uint32_t local_ranks_;
  const uint32_t ranks_;  // number of ranks in the team
  PlanExpansions expansions_;
  PortEdges edges_;
  std::optional<emu::PortId> port_;  // set once it is open
  uint32_t counters_per_slot_ = 0;
  CallSeq first_call_{0};
  CallRecords calls_;
  uint32_t long_calls_ = 0;
  // Inline contributions are kept here, by slot and local index, while the engine may read them. The vector is empty
  // before the first one.
  std::vector<std::array<uint8_t, kInlineBytesMax>> inline_data_;
  // It has the copy lists of the calls in flight, by slot, and is empty before the first one.
  std::vector<std::vector<emu::CopyRun>> runs_;
  PortEvents events_;
  Instruments* const instruments_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_EPOCH_PORT_H_
