// SPDX-License-Identifier: Apache-2.0
//
// Adds up the time that a simulated node's thread takes for its work.
#ifndef COPSE_CLI_SIM_CLUSTER_NODE_CLOCK_H_
#define COPSE_CLI_SIM_CLUSTER_NODE_CLOCK_H_

#include <cstdint>

#include "cli/sim/cluster/sim_call.h"
#include "cli/sim/cluster/wire.h"
#include "offload_emu/engine.h"

namespace copse::sim {

// A NodeClock charges one node's thread for what it does, by the call's rule. `*call` must outlive this object.
// Thread-compatible.
class NodeClock {
 public:
  NodeClock(const SimCall* call, uint32_t node) : call_(call), node_(node) {}

  // Begins a turn at `now_ns`, for which the thread needs `wake_ns` to wake up.
  void Begin(int64_t now_ns, int64_t wake_ns);
  int64_t now_ns() const { return now_ns_; }

  // These charge the thread for: a rank's arguments; descriptors that are posted, `primitives` of the plan, with
  // `runs` entries of copy lists; frames.
  void TakeRank();
  void PostPrimitives(uint64_t primitives, uint64_t runs);
  void Receive(const WireFrame& frame);
  void Send(const WireFrame& frame);
  // Charges copies and reductions of the engine since the last call.
  void Work(const emu::EngineStats& stats);

 private:
  bool charged() const { return call_->charging == Charging::kCostModel; }

  const SimCall* const call_;
  const uint32_t node_;
  int64_t now_ns_ = 0;                  // time up to which the thread's work is charged
  uint64_t copied_ = 0, combined_ = 0;  // bytes already charged
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_NODE_CLOCK_H_
