// SPDX-License-Identifier: Apache-2.0
//
// Simulates one node in one call of a plan: the daemon's engine, its one thread, and the ranks' buffers.
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

// A Charging is the rule by which work takes time.
enum class Charging : uint8_t {
  // The rules of the cost model (docs/reference/cost-model.md) apply.
  kCostModel,
  // Section 3.1 of the MGO paper: a send keeps its node busy for o + (m-1)/b, the message's head arrives after the
  // latency L, and the receiver is busy for its o. Nothing else has a cost, and links have no contention.
  kMgo,
};

// SimCall holds the data that all nodes of a call share.
struct SimCall {
  const schedule::Plan* plan = nullptr;
  const schedule::ShapeIndex* shape = nullptr;
  const schedule::TreeIndex* index = nullptr;
  const planner::TeamCosts* costs = nullptr;
  CallArguments arguments;
  Charging charging = Charging::kCostModel;
  bool charge_headers = false;  // true: frames are charged with their headers, not only for the message's bytes
  uint64_t seed = 1;            // seed of the contributions
  const schedule::BlockProgram* blocks = nullptr;  // for a collective of blocks; else null
  // It holds the metadata of all nodes, each of which writes equal bytes to it. Null: each node has its own.
  uint8_t* shared_notes = nullptr;
};

// A SimNode does for one call the work of the daemon's EpochPort and LongCall: it opens a port with the plan's edges,
// expands the plan, lowers it, and posts descriptors as ranks post the call. A collective of blocks runs chunk by
// chunk, a window of them at a time. Unlike daemons, the nodes share plan and index, and know all counts from the
// start. As the Transport of its engine, a SimNode charges its thread for the engine's work and passes frames to the
// wire.
//
// Calls follow Open, LabelFor and SetRemoteLabel for each neighbor, Settle, (AddRank | AddFrame | Turn TakeDone)*,
// where Turn needs HasWork(). Thread-compatible. All pointers must outlive this object.
class SimNode final : private emu::Transport, private emu::PortSink, private emu::ControlSink {
 public:
  SimNode(const SimCall* call, uint32_t node, Wire* wire, const Cores* cores);
  ~SimNode() override;

  // Makes the engine and opens its port. `sequences_max` is the result of schedule::SequencesPerCall for the plan and
  // the number of this node's ranks. Errors: those of Expand, Engine::OpenPort and Engine::AddEdge.
  absl::Status Open(uint32_t sequences_max);
  absl::Span<const uint32_t> neighbors() const { return neighbors_; }
  emu::Label LabelFor(uint32_t neighbor) const;
  absl::Status SetRemoteLabel(uint32_t neighbor, emu::Label label);
  // Runs the engine until it has no work. Before the call, this processes the labels, which must all be set.
  void Settle();

  // These queue work for the node's thread: a rank that has posted the call, by its local index, or a frame that has
  // arrived.
  void AddRank(uint32_t local) { items_.push_back({.from_rank = true, .local = local, .frame = {}}); }
  void AddFrame(WireFrame frame) { items_.push_back({.from_rank = false, .local = 0, .frame = std::move(frame)}); }
  bool HasWork() const { return next_item_ < items_.size(); }
  // Does the oldest queued work, beginning at `now_ns`. Returns the time at which the thread is free again. Errors are
  // in failure().
  int64_t Turn(int64_t now_ns);
  // Sets `*done` to the local indices of the ranks whose results have been completed since the last TakeDone.
  void TakeDone(std::vector<uint32_t>* done);

  // Returns the first error of the engine or of the call; any error is a bug.
  const absl::Status& failure() const { return failure_; }
  // Returns whether all ranks and the node's own work have ended.
  bool ended() const {
    if (call_->blocks != nullptr) return chunks_finished_ == call_->blocks->chunk_count();
    return node_done_ && told_ == ranks_.size();
  }
  // Checks the results of this node's ranks. `expected` is the call's result; a collective of blocks ignores it, since
  // each rank has its own. Errors: INTERNAL with the first byte that differs, or if memory behind a result was written.
  absl::Status CheckData(absl::Span<const uint8_t> expected) const;
  const emu::EngineStats& stats() const { return engine_->stats(); }
  // These return the bytes of a daemon's memory that are not the engine's: metadata, and the maximum of copy lists.
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
    std::vector<uint8_t> receive;  // the result and guard bytes
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
  void OnWrongArrival(emu::PortId port, uint16_t sequence, const emu::Arrival& arrived,
                      const emu::Arrival* awaited) override;
  void OnControl(Incarnation, uint16_t, absl::Span<const uint8_t>) override {}
  void OnPeerDown(Incarnation, const absl::Status&) override {}
  void OnPeerHeard(Incarnation) override {}

  uint64_t ChargedBytes(absl::Span<const uint8_t> frame) const;
  size_t PlaceOf(uint32_t neighbor) const;  // the index in neighbors_
  void ChargeWork();                        // charges copies and reductions since the last call
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
  // Finishes chunks that have ended and starts those for which the window has room. Returns false if there were none.
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
  std::vector<schedule::NodeSequence> sequences_;  // by rotation; freed when all ranks have posted
  std::vector<uint32_t> neighbors_;
  std::vector<uint32_t> edges_;          // parallel to neighbors_
  std::vector<emu::Label> labels_;       // parallel to neighbors_
  std::vector<emu::RegionIndex> cells_;  // parallel to neighbors_
  std::vector<RankMemory> ranks_;        // by local index
  std::vector<Item> items_;
  size_t next_item_ = 0;
  WireFrame inbox_;  // frame that the engine's next Progress receives; valid if has_frame_
  bool has_frame_ = false;
  int64_t cursor_ns_ = 0;               // time up to which the thread's work is charged
  uint64_t copied_ = 0, combined_ = 0;  // bytes already charged
  uint32_t arrived_ = 0;
  uint32_t told_ = 0;
  bool node_done_ = false;
  std::vector<uint32_t> done_;
  std::vector<ActiveChunk> chunks_;  // by slot
  std::vector<uint8_t> notes_;
  std::vector<uint64_t> told_chunks_;  // by local rank: chunks whose result is complete
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
