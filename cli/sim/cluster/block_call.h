// SPDX-License-Identifier: Apache-2.0
//
// A simulated node's part of a collective of blocks, which runs chunk by chunk.
#ifndef COPSE_CLI_SIM_CLUSTER_BLOCK_CALL_H_
#define COPSE_CLI_SIM_CLUSTER_BLOCK_CALL_H_

#include <cstdint>
#include <vector>

#include "cli/sim/cluster/node_call.h"
#include "cli/sim/cluster/node_clock.h"
#include "cli/sim/cluster/node_port.h"
#include "cli/sim/cluster/rank_memory.h"
#include "cli/sim/cluster/sim_call.h"
#include "offload_emu/engine.h"
#include "schedule/lower.h"

namespace copse::sim {

// A BlockCall starts when all of its node's ranks have posted, and runs a window of chunks at a time.
class BlockCall final : public NodeCall {
 public:
  BlockCall(const SimCall* call, uint32_t node, NodePort* port, NodeClock* clock);

  absl::Status Prepare() override { return absl::OkStatus(); }
  uint32_t window() const override { return static_cast<uint32_t>(chunks_.size()); }
  absl::Status AddRank(uint32_t local) override;
  // Finishes chunks that have ended and starts those for which the window has room.
  absl::StatusOr<bool> Advance() override;
  void TakeEvent(uint64_t value, std::vector<uint32_t>* done) override;
  bool ended() const override;
  absl::Status CheckData(absl::Span<const uint8_t> expected) const override;
  uint64_t list_bytes_max() const override { return list_bytes_max_; }

 private:
  struct ActiveChunk {
    bool node_done = false;
    uint32_t told = 0;
    std::vector<emu::CopyRun> runs;
  };
  ActiveChunk& ChunkAt(uint64_t number) { return chunks_[number % chunks_.size()]; }
  // Makes the contributions of this node's ranks, and the memory for their results and the metadata.
  void MakeRanks();
  schedule::PortMap MapOf(uint64_t chunk) const;
  absl::Status Bind(const schedule::PortMap& map);
  void KeepRuns(ActiveChunk* chunk);
  absl::Status StartChunk(uint64_t chunk);
  absl::Status FinishChunk(uint64_t chunk);

  const SimCall* const call_;
  const uint32_t node_;
  NodePort* const port_;
  NodeClock* const clock_;
  uint32_t arrived_ = 0;
  std::vector<RankMemory> ranks_;      // by local index
  std::vector<uint8_t> notes_;         // metadata, unless all nodes share it
  std::vector<ActiveChunk> chunks_;    // by slot
  std::vector<uint64_t> told_chunks_;  // by local rank: chunks whose result is complete
  std::vector<uint64_t> over_;         // chunks that have ended since the last Advance
  uint64_t chunks_started_ = 0;
  uint64_t chunks_finished_ = 0;
  uint64_t list_bytes_max_ = 0;
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_BLOCK_CALL_H_
