// SPDX-License-Identifier: Apache-2.0
//
// Simulates one node in one call of a plan: the daemon's engine, its one thread, and the ranks' buffers.
#ifndef COPSE_CLI_SIM_CLUSTER_SIM_NODE_H_
#define COPSE_CLI_SIM_CLUSTER_SIM_NODE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "cli/sim/cluster/node_call.h"
#include "cli/sim/cluster/node_clock.h"
#include "cli/sim/cluster/node_port.h"
#include "cli/sim/cluster/sim_call.h"
#include "cli/sim/cluster/wire.h"
#include "offload_emu/engine.h"
#include "offload_emu/transport.h"
#include "sim/cores.h"

namespace copse::sim {

// A SimNode is the thread of a daemon: it takes one rank's arguments or one frame at a time, and runs its engine and
// its part of the call until they have nothing to do. As the Transport of its engine, it charges its thread for the
// engine's work and passes frames to the wire.
//
// Calls follow OpenPort, then the port's LabelFor and SetRemoteLabel for each neighbor and its Settle, then (AddRank |
// AddFrame | Turn TakeDone)*, where Turn needs HasWork(). Thread-compatible. All pointers must outlive this object.
class SimNode final : private emu::Transport, private emu::PortSink, private emu::ControlSink {
 public:
  SimNode(const SimCall* call, uint32_t node, Wire* wire, const Cores* cores);

  // Makes the engine and opens its port. `sequences_max` is the result of schedule::SequencesPerCall for the plan and
  // the number of this node's ranks. Errors: those of Expand, Engine::OpenPort and Engine::AddEdge.
  absl::Status OpenPort(uint32_t sequences_max);
  // Returns the node's port, whose neighbors' labels the caller exchanges and settles before the first turn.
  NodePort& port() { return port_; }
  const NodePort& port() const { return port_; }

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
  const NodeCall& call() const { return *node_call_; }

 private:
  struct Queued {
    bool from_rank;
    uint32_t local;
    WireFrame frame;
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
  void TakeNext();
  // Runs engine and call by turns until neither has work.
  absl::Status Work();

  const SimCall* const call_;
  const uint32_t node_;
  Wire* const wire_;
  const Cores* const cores_;
  NodeClock clock_;
  NodePort port_;
  std::unique_ptr<NodeCall> node_call_;
  std::vector<Queued> items_;
  size_t next_item_ = 0;
  WireFrame inbox_;  // frame that the engine's next Progress receives; valid if has_frame_
  bool has_frame_ = false;
  std::vector<uint32_t> done_;
  absl::Status failure_;
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_SIM_NODE_H_
