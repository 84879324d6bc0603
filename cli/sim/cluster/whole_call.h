// SPDX-License-Identifier: Apache-2.0
//
// A simulated node's part of a call that one sequence of operations carries: barrier, bcast, reduce, allreduce.
#ifndef COPSE_CLI_SIM_CLUSTER_WHOLE_CALL_H_
#define COPSE_CLI_SIM_CLUSTER_WHOLE_CALL_H_

#include <cstdint>
#include <vector>

#include "cli/sim/cluster/node_call.h"
#include "cli/sim/cluster/node_clock.h"
#include "cli/sim/cluster/node_port.h"
#include "cli/sim/cluster/rank_memory.h"
#include "cli/sim/cluster/sim_call.h"
#include "schedule/expand.h"

namespace copse::sim {

// A WholeCall posts the node's descriptors with its first rank, and each rank's own with that rank.
class WholeCall final : public NodeCall {
 public:
  WholeCall(const SimCall* call, uint32_t node, NodePort* port, NodeClock* clock);

  absl::Status Prepare() override;
  uint32_t window() const override { return 1; }
  absl::Status AddRank(uint32_t local) override;
  absl::StatusOr<bool> Advance() override { return false; }
  void TakeEvent(uint64_t value, std::vector<uint32_t>* done) override;
  bool ended() const override { return node_done_ && told_ == ranks_.size(); }
  absl::Status CheckData(absl::Span<const uint8_t> expected) const override;
  uint64_t list_bytes_max() const override { return 0; }

 private:
  uint64_t message_bytes() const;
  schedule::PortMap Map() const;
  absl::Status Start();
  void MakeMemory(uint32_t local);

  const SimCall* const call_;
  const uint32_t node_;
  NodePort* const port_;
  NodeClock* const clock_;
  std::vector<schedule::NodeSequence> sequences_;  // by rotation; freed when all ranks have posted
  std::vector<RankMemory> ranks_;                  // by local index
  uint32_t arrived_ = 0;
  uint32_t told_ = 0;
  bool node_done_ = false;
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_WHOLE_CALL_H_
