// SPDX-License-Identifier: Apache-2.0
//
// Runs one scatter, gather or allgather on simulated nodes, with the model's events instead of the engines'.
#ifndef COPSE_CLI_SIM_CLUSTER_BLOCK_RUN_H_
#define COPSE_CLI_SIM_CLUSTER_BLOCK_RUN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/algorithms/block_costs.h"
#include "planner/algorithms/trees/block_tree.h"

namespace copse::sim {

// Limits the sum of blocks over all messages of one tree; a chain of 20,000 nodes has that many, and copies 3 GB.
inline constexpr uint64_t kCarriedBlocksMax = 200'000'000;

struct BlockRunResult {
  std::vector<int64_t> completion_ns;  // by node: when its blocks have arrived, or, if it receives none, it has sent
  int64_t total_ns = 0;                // maximum of completion_ns
  uint64_t messages = 0, bytes = 0;    // messages sent and their bytes, without headers
  uint64_t events = 0;                 // number of the simulator's events
  uint64_t trace_hash = 0;             // hash of the simulator's events; equal for equal runs
  double run_seconds = 0;              // wall time
};

// Runs the collective along `trees`, with all nodes starting at time 0. In messages, each node's block is represented
// by one number. Checks that every node receives its blocks.
//
// Input:   trees of BuildBlockTrees or BlockTreesOf for these costs and this collective.
// Model:   section 3.1 of the MGO paper. Down a tree a sender is busy for its overhead and the message's stream time,
// the
//          message's head arrives after the latency L, and the receiver is busy for its overhead. Up a tree a sender is
//          busy for its overhead; the receiver, which receives from its children in the reverse of their serving order,
//          is busy for its overhead and the stream time.
// Errors:  INVALID_ARGUMENT if the trees are not over the costs' nodes; RESOURCE_EXHAUSTED above kCarriedBlocksMax;
//          INTERNAL if a node has wrong blocks.
// Cost:    O(blocks carried + messages log messages).
absl::StatusOr<BlockRunResult> RunBlocks(const planner::BlockTrees& trees, const planner::BlockCosts& costs,
                                         planner::BlockCollective collective);

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_BLOCK_RUN_H_
