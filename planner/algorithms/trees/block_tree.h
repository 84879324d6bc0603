// SPDX-License-Identifier: Apache-2.0
//
// Trees for collectives in which every node has a block of its own: scatter, gather, allgather.
#ifndef COPSE_PLANNER_ALGORITHMS_TREES_BLOCK_TREE_H_
#define COPSE_PLANNER_ALGORITHMS_TREES_BLOCK_TREE_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/algorithms/block_costs.h"
#include "planner/algorithms/broadcast_tree.h"

namespace copse::planner {

enum class BlockCollective : uint8_t { kScatter, kGather, kAllgather };
std::string_view BlockCollectiveName(BlockCollective collective);
std::optional<BlockCollective> BlockCollectiveFromName(std::string_view name);

// Returns blocks[v], the number of nodes in v's subtree, v included; the edge to v carries so many blocks. The tree
// must be checked.
std::vector<uint32_t> SubtreeBlocks(const BroadcastTree& tree);

// Returns when the last node has its block, the root starting at 0: RT_s += send_s + T, then RT_r = RT_s + L_sr +
// receive_r, where T is the time for the blocks of r's whole subtree. The tree must be checked here and below. Cost:
// O(n * depth of the cluster).
int64_t ScatterCompletion(const BlockCosts& costs, const BroadcastTree& tree);

// Returns when the root has all blocks: each edge's `to` sends to its `from`, timed by the rules of ManyToOneCompletion
// (broadcast_tree.h). By reversal of time this is ScatterCompletion with costs.Mirrored().
int64_t GatherCompletion(const BlockCosts& costs, const BroadcastTree& tree);

// Returns the same tree with every sender's children in the best order for a scatter, by falling tail (falling_tail.h):
// a message's duration depends on the tree alone, not on the order, so Jackson's rule holds here too.
BroadcastTree WithFallingTailsOfBlocks(const BlockCosts& costs, const BroadcastTree& tree);

// BlockTrees holds the edges that one collective uses.
struct BlockTrees {
  BroadcastTree up;    // gather, allgather: each edge's `to` sends to its `from`, the last edge first; else no edges
  BroadcastTree down;  // scatter, allgather, where each message has all blocks; else no edges
  int64_t completion_ns = 0;
};

// Returns the completion_ns of these checked trees with such costs.
int64_t BlockCompletion(const BlockCosts& costs, const BlockTrees& trees, BlockCollective collective);

// Builds trees by an algorithm of broadcast_algorithms.h: its tree for one block, many-to-one on mirrored costs
// (tree_greedy.h), as the MGO paper describes. An allgather is a gather, then a broadcast of all blocks. "best" is
// ours: it takes the fastest among the trees of all those algorithms, made for one block, four, sixteen and so on, each
// with its children by falling tail; for up to 64 nodes it searches the fastest four for moves that help, within a
// number of steps; for an allgather it then adds the best broadcast of all blocks. It is never slower than any of them
// here.
//
// Input:   root < n. Above BroadcastCosts::kMatrixNodesMax nodes "best" tries FT, BT, FCEF and MGO alone.
// Output:  completion_ns by ScatterCompletion, GatherCompletion, or that and Completion with costs.OfAll().
// Cost:    that of the algorithm; "best" costs as much as all of them for each size.
// Errors:  INVALID_ARGUMENT from BuildBroadcast, and for "OPTIMAL", which exists for broadcasts only.
// Source:  MGO paper, end of section 3.3, on which tree serves which collective; that messages grow with the subtree is
//          its "merging".
absl::StatusOr<BlockTrees> BuildBlockTrees(std::string_view algorithm, const BlockCosts& costs,
                                           BlockCollective collective, uint32_t root);

// Uses an existing tree both ways.
BlockTrees BlockTreesOf(const BroadcastTree& tree, const BlockCosts& costs, BlockCollective collective);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_BLOCK_TREE_H_
