// SPDX-License-Identifier: Apache-2.0
//
// One simulated node in one call of a plan: the daemon's engine, its one thread, and the ranks' buffers.
#ifndef COPSE_CLI_SIM_CLUSTER_SIM_NODE_H_
#define COPSE_CLI_SIM_CLUSTER_SIM_NODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "cli/sim/cluster/wire.h"
#include "collectives/call_arguments.h"
#include "offload_emu/engine.h"
#include "offload_emu/transport.h"
#include "planner/pricing/team_costs.h"
#include "schedule/block_program.h"
#include "schedule/expand.h"
#include "schedule/lower.h"
#include "schedule/plan.h"
#include "sim/cores.h"

namespace copse::sim {

// Charging is the rule by which work takes time.
enum class Charging : uint8_t {
  // By the cost model: docs/reference/cost-model.md.
  kCostModel,
  // By MGO's section 3.1: a send keeps its node busy for o + (m-1)/b, the head travels L, the receiver is busy for its
  // o; nothing else has a cost, and no link is shared.
  kMgo,
};

// SimCall is the data that all nodes of a call share.
struct SimCall {
  const schedule::Plan* plan = nullptr;
  const schedule::ShapeIndex* shape = nullptr;
  const schedule::TreeIndex* index = nullptr;
  const planner::TeamCosts* costs = nullptr;
  CallArguments arguments;
  Charging charging = Charging::kCostModel;
  bool charge_headers = false;  // links and ends are charged for whole frames, not for the message's bytes alone
  uint64_t seed = 1;            // seed of the contributions
  const schedule::BlockProgram* blocks = nullptr;  // for a collective of blocks
  // Its nodes' metadata, if all of them share the memory: each writes the same bytes. Else null.
  uint8_t* shared_notes = nullptr;
};

// A SimNode does for one call the work of the daemon's EpochPort and LongCall: it opens a port with the plan's edges,
// expands the plan, lowers it and posts it when its ranks come; a collective of blocks runs chunk by chunk, a window of
// them at a time. It differs in that all nodes of the process share plan and index, and that it knows all counts. As
// Transport of its engine it charges its thread for the engine's work and passes frames to the wire.
//
// Calls: Open, LabelFor and SetRemoteLabel for each neighbor, Settle, then AddRank and AddFrame with a Turn each.
// Single-threaded. All pointers must outlive it.
class SimNode final : private emu::Transport, private emu::PortSink, private emu::ControlSink {
 public:
  SimNode(const SimCall* call, uint32_t node, Wire* wire, const Cores* cores);
  ~SimNode() override;

  // Errors: those of Expand and Engine::OpenPort. `sequences_max` is schedule::SequencesPerCall of the plan and this
  // node's ranks.
  absl::Status Open(uint32_t sequences_max);
  absl::Span<const uint32_t> neighbours() const { return neighbours_; }
  emu::Label LabelFor(uint32_t neighbour) const;
  absl::Status SetRemoteLabel(uint32_t neighbour, emu::Label label);
  // Lets the engine process the labels before the call, as in a daemon; all labels must be set.
  void Settle();

  // These queue work for the node's thread: a rank that has posted, by its local index; a frame that has arrived.
  void AddRank(uint32_t local) { items_.push_back({.from_rank = true, .local = local, .frame = {}}); }
  void AddFrame(WireFrame frame) { items_.push_back({.from_rank = false, .local = 0, .frame = std::move(frame)}); }
  bool HasWork() const { return next_item_ < items_.size(); }
  // Does the next work, from `now_ns` on. Returns when the thread is free again.
  int64_t Turn(int64_t now_ns);
  // Returns the local indices of ranks whose result arrived in the last turn, at its end. Replaces `*done`.
  void TakeDone(std::vector<uint32_t>* done);

  // Returns the engine's error; there should be none.
  const absl::Status& failure() const { return failure_; }
  // Returns whether all ranks and the node's own work have ended.
  bool ended() const {
    if (call_->blocks != nullptr) return chunks_finished_ == call_->blocks->chunk_count();
    return node_done_ && told_ == ranks_.size();
  }
  // Returns INTERNAL, with the first byte that differs, if the data of a rank here differs from `expected`, the call's
  // result.
  absl::Status CheckData(absl::Span<const uint8_t> expected) const;
  const emu::EngineStats& stats() const { return engine_->stats(); }
  // These count the daemon's own memory beside the engine's: metadata, and the maximum of copy lists.
  uint64_t notes_bytes() const { return call_->blocks != nullptr ? call_->blocks->NotesBytes() : 0; }
  uint64_t list_bytes_max() const { return list_bytes_max_; }

 private:
  struct Item {
    bool from_rank;
    uint32_t local;
    WireFrame frame;
  };
  struct RankMemory {
    std::vector<uint8_t> send;
    std::vector<uint8_t> receive;  // the result, and guard bytes
  };

  // --- Transport ---
  std::string LocalAddress() const override;
  absl::Status Connect(const emu::PeerAddress&) override { return absl::OkStatus(); }
  void Disconnect(Incarnation) override {}
  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override;
  bool Progress(emu::TransportSink* sink) override;
  // --- PortSink, ControlSink ---
  void OnEvent(emu::PortId port, uint64_t value, bool failed) override;
  void OnMismatch(emu::PortId port, uint32_t edge, uint16_t sequence, uint16_t hash) override;
  void OnControl(Incarnation, uint16_t, absl::Span<const uint8_t>) override {}
  void OnPeerDown(Incarnation, const absl::Status&) override {}
  void OnPeerHeard(Incarnation) override {}

  uint64_t ChargedBytes(absl::Span<const uint8_t> frame) const;
  void ChargeWork();  // charges copies and reductions since the last call
  absl::Status StartCall();
  absl::Status ArmRank(uint32_t local);
  absl::Status Post();
  schedule::PortMap Map() const;

  // --- Collectives of blocks ---
  struct ActiveChunk {
    bool active = false;
    bool node_done = false;
    uint32_t told = 0;
    uint64_t list_bytes = 0;
    std::vector<emu::CopyRun> runs;
  };
  uint32_t slots() const { return static_cast<uint32_t>(chunks_.size()); }
  void MakeRanks();
  // Finishes chunks that have ended and starts those that may begin. Returns false if there were none.
  absl::StatusOr<bool> Advance();
  absl::Status StartChunk(uint64_t chunk);
  absl::Status FinishChunk(uint64_t chunk);
  schedule::PortMap MapOf(uint64_t chunk) const;
  uint64_t message_bytes() const;

  const SimCall* const call_;
  const uint32_t node_;
  Wire* const wire_;
  const Cores* const cores_;
  std::unique_ptr<emu::Engine> engine_;
  emu::PortId port_;
  std::vector<schedule::NodeSequence> sequences_;  // one per rotation, until all ranks have come
  std::vector<uint32_t> neighbours_;
  std::vector<uint32_t> edges_;          // parallel to neighbours_
  std::vector<emu::Label> labels_;       // parallel to neighbours_
  std::vector<emu::RegionIndex> cells_;  // parallel to neighbours_
  std::vector<RankMemory> ranks_;        // by local index
  std::vector<Item> items_;
  size_t next_item_ = 0;
  WireFrame inbox_;  // the frame of this turn
  bool has_frame_ = false;
  int64_t cursor_ns_ = 0;               // the thread's position in a turn
  uint64_t copied_ = 0, combined_ = 0;  // bytes already charged
  uint32_t arrived_ = 0;
  uint32_t told_ = 0;
  bool node_done_ = false;
  std::vector<uint32_t> done_;
  std::vector<ActiveChunk> chunks_;  // by slot
  std::vector<uint8_t> notes_;
  std::vector<uint64_t> told_chunks_;  // by local rank
  uint32_t counters_per_slot_ = 0;
  uint64_t chunks_started_ = 0;
  uint64_t chunks_finished_ = 0;
  std::vector<uint64_t> over_;  // chunks that have ended since the last Advance
  uint64_t list_bytes_ = 0;
  uint64_t list_bytes_max_ = 0;
  absl::Status failure_;
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_SIM_NODE_H_
