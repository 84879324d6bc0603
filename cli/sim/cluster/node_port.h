// SPDX-License-Identifier: Apache-2.0
//
// A simulated node's engine with the port of its one team.
#ifndef COPSE_CLI_SIM_CLUSTER_NODE_PORT_H_
#define COPSE_CLI_SIM_CLUSTER_NODE_PORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "cli/sim/cluster/rank_memory.h"
#include "cli/sim/cluster/sim_call.h"
#include "offload_emu/engine.h"
#include "offload_emu/transport.h"
#include "schedule/lower.h"

namespace copse::sim {

// Returns the incarnation of node v's daemon.
inline Incarnation IncarnationOf(uint32_t node) { return Incarnation(uint64_t{node} + 1); }

// Returns the buffer in which lowered descriptors are passed to a port. All nodes of a thread share it.
schedule::LoweredCall& Lowered();

// A NodePort does the work of the daemon's EpochPort: it opens a port with the plan's edges, and says in which regions,
// counters and cells a call that runs in one of its slots finds its memory. Calls are Open, then LabelFor and
// SetRemoteLabel for each neighbor. Thread-compatible. All pointers must outlive this object.
class NodePort {
 public:
  NodePort(const SimCall* call, uint32_t node) : call_(call), node_(node) {}

  // Opens the port. `window` calls run at a time, each with at most `sequences_max` sequences. Errors: those of
  // Engine::OpenPort and Engine::AddEdge.
  absl::Status Open(uint32_t window, uint32_t sequences_max, emu::Transport* transport, emu::PortSink* sink,
                    emu::ControlSink* control);
  absl::Span<const uint32_t> neighbors() const { return neighbors_; }
  emu::Label LabelFor(uint32_t neighbor) const { return labels_[PlaceOf(neighbor)]; }
  absl::Status SetRemoteLabel(uint32_t neighbor, emu::Label label);
  // Runs the engine until it has no work.
  void Settle();

  uint32_t local_ranks() const { return local_ranks_; }
  // Returns where call number `number` finds its memory. The caller sets the events.
  schedule::PortMap MapOf(uint64_t number) const;
  // Binds the regions of rank `local` in the map's slot.
  absl::Status BindRank(const schedule::PortMap& map, uint32_t local, RankMemory* memory);
  absl::Status BindNotes(const schedule::PortMap& map, uint8_t* notes, uint64_t bytes);
  // Says what call number `number`, which has been lowered, awaits from the neighbors.
  absl::Status Expect(uint64_t number, const schedule::LoweredCall& lowered, uint16_t hash);
  absl::Status Post(const schedule::LoweredCall& lowered);
  absl::Status Count(emu::CounterIndex counter) { return engine_->Count(port_, counter, 1, 0); }
  absl::Status Finish(uint64_t number) { return engine_->FinishCall(port_, CallSeq(number)); }
  uint64_t finished() const { return engine_->Finished(port_).value(); }
  const emu::EngineStats& stats() const { return engine_->stats(); }

 private:
  size_t PlaceOf(uint32_t neighbor) const;  // the index in neighbors_

  const SimCall* const call_;
  const uint32_t node_;
  uint32_t window_ = 1;
  uint32_t local_ranks_ = 0;
  uint32_t counters_per_slot_ = 0;
  std::unique_ptr<emu::Engine> engine_;
  emu::PortId port_;
  std::vector<uint32_t> neighbors_;
  std::vector<uint32_t> edges_;          // parallel to neighbors_
  std::vector<emu::Label> labels_;       // parallel to neighbors_
  std::vector<emu::RegionIndex> cells_;  // by slot, then parallel to neighbors_
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_NODE_PORT_H_
