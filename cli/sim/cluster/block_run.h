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

// Limit of the blocks that all messages carry: a chain of 20,000 nodes copies 3 GB.
inline constexpr uint64_t kCarriedBlocksMax = 200'000'000;

struct BlockRunResult {
  std::vector<int64_t> completion_ns;  // by node: arrival of its blocks, or, without any, its send
  int64_t total_ns = 0;                // that of the slowest node
  uint64_t messages = 0, bytes = 0;    // sent, without headers
  uint64_t events = 0;                 // of the simulator
  uint64_t trace_hash = 0;             // events of the simulator
  double run_seconds = 0;              // wall time
};

// Runs the collective along `trees`, all nodes starting at time 0, with messages that carry each node's block as a
// number of its own, and checks that every node has the right blocks.
//
// Input:   trees of BuildBlockTrees or BlockTreesOf for these costs and this collective.
// Model:   section 3.1 of the MGO paper. Down a tree a sender is busy for its overhead and the message's stream, its
//          head travels L, and the receiver is busy for its overhead. Up a tree a sender is busy for its overhead, and
//          the receiver, which takes its children in the reverse of their serving order, for its own and the stream.
// Errors:  INVALID_ARGUMENT if the trees are not over the costs' nodes; RESOURCE_EXHAUSTED beyond kCarriedBlocksMax;
//          INTERNAL if a node has wrong blocks.
// Cost:    O(blocks carried + messages log messages).
absl::StatusOr<BlockRunResult> RunBlocks(const planner::BlockTrees& trees, const planner::BlockCosts& costs,
                                         planner::BlockCollective collective);

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_BLOCK_RUN_H_
