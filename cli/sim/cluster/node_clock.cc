// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/node_clock.h"

#include "planner/pricing/cost_model.h"

namespace copse::sim {

void NodeClock::Begin(int64_t now_ns, int64_t wake_ns) { now_ns_ = now_ns + (charged() ? wake_ns : 0); }

void NodeClock::TakeRank() {
  if (charged()) now_ns_ += call_->costs->parameters().arm_ns;
}

void NodeClock::PostPrimitives(uint64_t primitives, uint64_t runs) {
  if (!charged()) return;
  now_ns_ += call_->costs->parameters().arm_ns * static_cast<int64_t>(primitives) +
             planner::kCopyRunNs * static_cast<int64_t>(runs);
}

void NodeClock::Receive(const WireFrame& frame) {
  now_ns_ += call_->costs->node(node_).receive_overhead_ns;
  if (charged()) now_ns_ += planner::PerByteNs(frame.charged_bytes, call_->costs->parameters().receive_ps_per_byte);
}

void NodeClock::Send(const WireFrame& frame) {
  now_ns_ += call_->costs->node(node_).send_overhead_ns;
  now_ns_ += charged() ? planner::PerByteNs(frame.charged_bytes, call_->costs->parameters().send_ps_per_byte)
                       : planner::StreamNs(frame.charged_bytes,
                                           call_->costs->PathBetween(node_, frame.to).bandwidth_bytes_per_s);
}

void NodeClock::Work(const emu::EngineStats& stats) {
  const uint64_t combined = stats.alu_operand_bytes - stats.alu_bytes;
  if (charged()) {
    const topology::CostParameters& costs = call_->costs->parameters();
    now_ns_ += planner::PerByteNs(combined - combined_, costs.alu_ps_per_byte);
    now_ns_ += planner::PerByteNs(stats.copy_bytes - copied_, costs.copy_ps_per_byte);
  }
  combined_ = combined;
  copied_ = stats.copy_bytes;
}

}  // namespace copse::sim
