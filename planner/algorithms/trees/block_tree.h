// SPDX-License-Identifier: Apache-2.0
//
// Builds trees for collectives in which every node has a block of its own: scatter, gather, allgather.
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

// Returns, by node v, the number of nodes in v's subtree with v, which is the number of blocks that the edge to v
// carries. The tree must be checked (CheckBroadcastTree), here and below.
std::vector<uint32_t> SubtreeBlocks(const BroadcastTree& tree);

// Returns the time at which the last node has its block if the root starts at 0: RT_s += send_s + T, then RT_r = RT_s +
// L_sr + receive_r, where T is the stream time of the blocks of r's whole subtree. Cost: O(n * depth of the cluster).
int64_t ScatterCompletion(const BlockCosts& costs, const BroadcastTree& tree);

// Returns the time at which the root has all blocks: each edge's `to` sends to its `from`, timed by the rules of
// ManyToOneCompletion (broadcast_tree.h). By reversal of time this is ScatterCompletion with costs.Mirrored().
int64_t GatherCompletion(const BlockCosts& costs, const BroadcastTree& tree);

// Returns the tree with every sender's children in the best order for a scatter, by falling tail (falling_tail.h): a
// message's duration depends on the tree alone, not on the order, so Jackson's rule holds here, too. Edges are in
// breadth-first order.
BroadcastTree WithFallingTailsOfBlocks(const BlockCosts& costs, const BroadcastTree& tree);

// BlockTrees holds the edges that one collective uses.
struct BlockTrees {
  BroadcastTree up;    // gather, allgather: each edge's `to` sends to its `from`, last edge first; scatter: no edges
  BroadcastTree down;  // scatter; allgather: each message has all blocks; gather: no edges
  int64_t completion_ns = 0;
};

// Returns the completion time of these trees: that of the gather, the scatter, or (allgather) of the gather and then a
// broadcast of all blocks.
int64_t BlockCompletion(const BlockCosts& costs, const BlockTrees& trees, BlockCollective collective);

// Builds trees by an algorithm of broadcast_algorithms.h: its tree for one block, on mirrored costs for a gather, as
// the MGO paper describes. An allgather is a gather, then a broadcast of all blocks. "best" is ours: it takes the
// fastest among the trees of several of those algorithms, made for one block, four, sixteen and so on, each with its
// children by falling tail. For up to 64 nodes it also searches the fastest four, within a number of steps, for moves
// that make them faster. For an allgather it adds the "best" broadcast of all blocks.
//
// Input:   root < n. Above BroadcastCosts::kMatrixNodesMax nodes "best" tries ft, bt, fcef and mgo only.
// Output:  completion_ns as BlockCompletion returns it.
// Cost:    that of the algorithm; that of "best" is the sum over all that it tries, for each size.
// Errors:  INVALID_ARGUMENT if root >= n, from BuildBroadcast, from BlockCosts::Of, and for "optimal", which exists for
//          broadcasts only.
// Source:  MGO paper, end of section 3.3, for the choice of the tree by collective; messages that grow with the subtree
//          are its "merging".
absl::StatusOr<BlockTrees> BuildBlockTrees(std::string_view algorithm, const BlockCosts& costs,
                                           BlockCollective collective, uint32_t root);

// Returns the trees of a collective that uses `tree` for each direction that it needs.
BlockTrees BlockTreesOf(const BroadcastTree& tree, const BlockCosts& costs, BlockCollective collective);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_BLOCK_TREE_H_
