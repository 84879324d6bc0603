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

// blocks[v]: how many nodes v's subtree has, v included; so many blocks go along the edge to it. Of a checked tree.
std::vector<uint32_t> SubtreeBlocks(const BroadcastTree& tree);

// When the last node has its block, the root starting at 0: RT_s += send_s + T, then RT_r = RT_s + L_sr + receive_r,
// where T is of the blocks of r's whole subtree. Of a checked tree, as the next. Cost: O(n * depth of the cluster).
int64_t ScatterCompletion(const BlockCosts& costs, const BroadcastTree& tree);

// When the root has all blocks: each edge's `to` sends to its `from` as in ManyToOneCompletion (broadcast_tree.h). By
// reversal of time ScatterCompletion with costs.Mirrored().
int64_t GatherCompletion(const BlockCosts& costs, const BroadcastTree& tree);

// The same tree with every sender's children in the best order for a scatter, by falling tail (falling_tail.h): how
// long a message takes depends on the tree alone, not on the order, so Jackson's rule holds here too.
BroadcastTree WithFallingTailsOfBlocks(const BlockCosts& costs, const BroadcastTree& tree);

// Who sends to whom in one collective.
struct BlockTrees {
  BroadcastTree up;    // gather, allgather: each edge's `to` sends to its `from`, the last edge first; else no edges
  BroadcastTree down;  // scatter, allgather, where each message has all blocks; else no edges
  int64_t completion_ns = 0;
};

// What these trees take with such costs, as completion_ns. Of checked trees.
int64_t BlockCompletion(const BlockCosts& costs, const BlockTrees& trees, BlockCollective collective);

// By an algorithm of broadcast_algorithms.h: its tree for one block, many-to-one on mirrored costs (tree_greedy.h), as
// the MGO paper takes its trees. An allgather is a gather, then a broadcast of all blocks. "best" is ours: of the trees
// of all those algorithms, made for one block, four, sixteen and so on, each with its children by falling tail, the
// fastest; of up to 64 nodes the fastest four are searched for moves that help, within a number of steps; in an
// allgather then the best broadcast of all blocks. It is never slower than any of them here.
//
// Input:   root < n. Above BroadcastCosts::kMatrixNodesMax nodes "best" tries FT, BT, FCEF and MGO alone.
// Output:  completion_ns by ScatterCompletion, GatherCompletion, or that and Completion with costs.OfAll().
// Cost:    as the algorithm; "best" as all of them for each size.
// Errors:  INVALID_ARGUMENT as BuildBroadcast, and for "OPTIMAL", which is of broadcasts.
// Source:  MGO paper, end of section 3.3, on which tree is for what; that messages grow with the subtree is its
//          "merging".
absl::StatusOr<BlockTrees> BuildBlockTrees(std::string_view algorithm, const BlockCosts& costs,
                                           BlockCollective collective, uint32_t root);

// The same from a tree that there is, used both ways.
BlockTrees BlockTreesOf(const BroadcastTree& tree, const BlockCosts& costs, BlockCollective collective);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ALGORITHMS_TREES_BLOCK_TREE_H_
