// SPDX-License-Identifier: Apache-2.0
//
// One epoch of a team at this node: its plans, its port in the engine, and the calls that run there.
#ifndef COPSE_DAEMON_CORE_EPOCH_PORT_H_
#define COPSE_DAEMON_CORE_EPOCH_PORT_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/client_interface.h"
#include "daemon/core/instruments.h"
#include "daemon/core/long_call.h"
#include "daemon/core/ready_list.h"
#include "offload_emu/engine.h"
#include "protocol/control.h"
#include "schedule/expand.h"
#include "schedule/lower.h"

namespace copse::daemon {

class Team;
using ReadyTeams = ReadyList<Team>;

// A call as a rank posted it, held until its slot is free: inline data is owned.
struct HeldPost {
  CallPost post;
  absl::Time posted;  // when it was seen
  std::array<uint8_t, kInlineBytesMax> inline_data{};
};

// What happened at an EpochPort, in the order in which the engine said so.
struct PortEvent {
  enum class Kind : uint8_t { kRankDone, kNodeDone, kMismatch };
  Kind kind = Kind::kNodeDone;
  CallSeq sequence{0};     // of the team (kMismatch: the call that the packet seems to mean)
  uint32_t local = 0;      // kRankDone: local index
  NodeIndex neighbour{0};  // kMismatch: who sent the packet
  bool failed = false;
};

// An EpochPort numbers calls from 0 towards the engine (its own epoch's first call), so packets of a new epoch may
// arrive before its first call's number in the team is known here. Every epoch has a port of its own: labels, counters,
// credits and pools of two epochs never mix, and the old port goes when its last call is over.
//
// Order of calls: Open, (SetFirstCall, SetRemoteLabel)*, Start*, and Finish for each call once TakeEvents has told its
// end. Thread-compatible; `*engine` and `*shape` outlive it.
class EpochPort : public emu::PortSink {
 public:
  // Reserves everything that the plans can need. Errors name the resource; the plans were verified before.
  // `*ready` is marked whenever TakeEvents would return something new; it outlives the port.
  static absl::StatusOr<std::unique_ptr<EpochPort>> Open(emu::Engine* engine, const schedule::ShapeIndex* shape,
                                                         const schedule::TeamLayout& layout, NodeIndex self,
                                                         EpochId epoch, std::vector<schedule::Plan> plans,
                                                         ReadyTeams::Entry* ready, Instruments* instruments = nullptr);
  ~EpochPort() override;

  EpochId epoch() const { return epoch_; }
  // Nodes with which any plan exchanges packets, ascending, and the labels issued to them.
  const std::vector<uint32_t>& neighbours() const { return neighbours_; }
  std::vector<schedule::EdgeLabel> IncomingLabels() const;
  uint32_t LabelFor(NodeIndex neighbour) const;  // 0 if it is none
  // INVALID_ARGUMENT if the node is no neighbour.
  absl::Status SetRemoteLabel(NodeIndex neighbour, uint32_t label);
  bool HasAllRemoteLabels() const;

  void SetFirstCall(CallSeq first);
  CallSeq first_call() const { return first_call_; }

  // The plan that a call would use; null: none for this size.
  const schedule::Plan* PlanFor(const CallArguments& arguments) const;

  // Whether call `sequence` has a free slot, or one of its own already.
  bool HasSlot(CallSeq sequence) const;
  // Local rank `local` takes part in call `sequence`. The first rank's arguments are the call's; FAILED_PRECONDITION if
  // this rank's are others (nothing is started then), anything else is the engine's refusal.
  // `long_call`: the call is a chunk of it; it outlives the chunk.
  absl::Status Start(CallSeq sequence, uint32_t local, const HeldPost& post, absl::Time now,
                     LongCall* long_call = nullptr);
  // Call `sequence`, which is in the window, runs elsewhere: it is over here.
  void Skip(CallSeq sequence);
  const PlanIndex& IndexOf(const schedule::Plan& plan);
  // What has happened since the last call. Start and the engine's Progress produce it.
  // Replaces `*events`, whose memory is reused in turn.
  void TakeEvents(std::vector<PortEvent>* events);
  // Rank `local` of the call has been told, `now`.
  void RankTold(CallSeq sequence, uint32_t local, absl::Time now, bool failed);
  // Ends the call if its node part and all its ranks are done. True if it did.
  bool FinishIfDone(CallSeq sequence, absl::Time now);
  // All calls below this number of the team are over here.
  CallSeq FinishedBelow() const;

  // A call in flight here.
  struct Call {
    bool active = false;
    CallSeq sequence{0};
    CallArguments arguments;
    absl::Time started;
    absl::Time probed;  // when its arguments were last compared with the neighbours'
    bool node_done = false;
    bool failed = false;            // for a rank here
    LongCall* long_call = nullptr;  // of which it is a chunk
    uint64_t chunk() const { return sequence.value() - long_call->first().value(); }
    uint32_t ranks_told = 0;
    struct Member {
      bool posted = false;
      bool told = false;
      uint64_t value = 0;
    };
    absl::InlinedVector<Member, 1> members;  // by local index; mostly there is one
  };
  const Call* Find(CallSeq sequence) const;
  std::vector<const Call*> InFlight() const;  // by sequence
  void MarkProbed(CallSeq sequence, absl::Time now);

  // Neighbours that take part in the call's plan: those to ask about it.
  std::vector<NodeIndex> NeighboursOfCall(const Call& call) const;

  void OnEvent(emu::PortId port, uint64_t value, bool failed) override;
  void OnMismatch(emu::PortId port, uint32_t edge, uint16_t sequence, uint16_t hash) override;

  const std::vector<schedule::Plan>& plans() const { return plans_; }

 private:
  // What a plan's first call makes and its later ones use.
  struct Prepared {
    explicit Prepared(const schedule::Plan& plan) : index(plan) {}
    schedule::TreeIndex index;
    // Expanded before, by root, or by rotation where there is no root; bounded.
    std::map<uint32_t, std::unique_ptr<schedule::NodeSequence>> by_root;
    std::unique_ptr<PlanIndex> blocks;  // made for the first block collective
  };

  EpochPort(emu::Engine* engine, const schedule::ShapeIndex* shape, NodeIndex self, EpochId epoch, uint32_t window,
            std::vector<schedule::Plan> plans, ReadyTeams::Entry* ready, Instruments* instruments, TeamId team);

  absl::Status OpenPort(const schedule::TeamLayout& layout);
  uint64_t Relative(CallSeq sequence) const { return sequence.value() - first_call_.value(); }
  uint32_t SlotOf(CallSeq sequence) const { return static_cast<uint32_t>(Relative(sequence) % window_); }
  Call& At(CallSeq sequence) { return *calls_[SlotOf(sequence)]; }
  // `rotation`: as schedule::ViewOf.
  absl::StatusOr<const schedule::NodeSequence*> ExpandCached(size_t plan, const CallArguments& arguments,
                                                             uint32_t rotation);
  // Those of all segments, as LowerNode takes them. Valid until the next call.
  absl::StatusOr<schedule::Sequences> SequencesOf(const Call& call, size_t plan);
  schedule::PortMap MapFor(const Call& call) const;
  // What OnEvent is told of the call.
  uint64_t NodeEvent(const Call& call) const;
  uint64_t RankEvent(const Call& call, uint32_t local) const;
  Prepared& PreparedOf(size_t plan);
  // What is lowered: the call's arguments, or those of its chunk.
  static CallArguments ArgumentsOf(const Call& call);
  // All ranks' posts are there: the node's part and theirs.
  absl::Status ArmBlocks(Call* call, size_t plan);
  absl::Status ArmNode(Call* call, size_t plan);
  absl::Status BindRank(const Call& call, uint32_t local, const HeldPost& post);
  absl::Status ArmRank(Call* call, size_t plan, uint32_t local);
  absl::Status Post(uint32_t slot, schedule::LoweredCall* lowered);

  emu::Engine* const engine_;
  const schedule::ShapeIndex* const shape_;
  const NodeIndex self_;
  const EpochId epoch_;
  const uint32_t window_;
  const uint32_t local_ranks_;
  const std::vector<schedule::Plan> plans_;
  std::vector<std::unique_ptr<Prepared>> prepared_;  // beside plans_; null before the first call
  std::vector<uint32_t> neighbours_;
  std::vector<uint32_t> edges_;          // beside neighbours_
  std::vector<uint32_t> labels_;         // issued; beside neighbours_
  std::vector<bool> remote_known_;       // beside neighbours_
  std::vector<emu::RegionIndex> cells_;  // [slot * neighbours + i]
  emu::PortId port_;
  bool open_ = false;
  uint32_t counters_per_slot_ = 0;
  CallSeq first_call_{0};
  std::vector<std::unique_ptr<Call>> calls_;  // by slot; made when a call first needs it
  // Inline contributions, by slot and local index: kept while the engine may read them. Made when there is one.
  std::vector<std::array<uint8_t, kInlineBytesMax>> inline_data_;
  // Copy lists of the calls in flight, by slot. Made when there is one.
  std::vector<std::vector<emu::CopyRun>> runs_;
  std::vector<PortEvent> events_;
  ReadyTeams::Entry* const ready_;
  Instruments* const instruments_;
  const TeamId team_;
  std::unique_ptr<CallTimes> times_;  // made when the first call starts, if there are instruments
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_EPOCH_PORT_H_
