// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/block_run.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"
#include "sim/simulator.h"

namespace copse::sim {
namespace {

using planner::BlockCollective;
using planner::BroadcastTree;

// Returns a number that represents the data of node v's block.
uint64_t BlockOf(uint32_t v) { return Mix64(uint64_t{v} + 1); }

// A Walk numbers a tree's nodes in preorder: the places of a subtree are consecutive, and its root has the first.
struct Walk {
  std::vector<std::vector<uint32_t>> children;  // in serving order
  std::vector<uint32_t> parent;
  std::vector<uint32_t> place;    // by node
  std::vector<uint32_t> blocks;   // by node: size of its subtree
  std::vector<uint32_t> node_at;  // by place
};

absl::StatusOr<Walk> WalkOf(const BroadcastTree& tree, uint32_t nodes) {
  RETURN_IF_ERROR(planner::CheckBroadcastTree(tree, nodes));
  Walk walk;
  walk.children = planner::ChildrenOf(tree);
  walk.blocks = planner::SubtreeBlocks(tree);
  uint64_t carried = 0;
  for (const planner::BroadcastEdge& edge : tree.edges) carried += walk.blocks[edge.to];
  if (carried > kCarriedBlocksMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("simulation: too many blocks are carried (blocks=", carried, ", limit=", kCarriedBlocksMax, ")"));
  }
  walk.parent.assign(nodes, tree.root);
  walk.place.assign(nodes, 0);
  walk.node_at.assign(nodes, tree.root);
  // A node receives before it sends, so its place is known here.
  std::vector<uint32_t> next_place(nodes, 1);
  for (const planner::BroadcastEdge& edge : tree.edges) {
    walk.parent[edge.to] = edge.from;
    walk.place[edge.to] = next_place[edge.from];
    walk.node_at[walk.place[edge.to]] = edge.to;
    next_place[edge.from] += walk.blocks[edge.to];
    next_place[edge.to] = walk.place[edge.to] + 1;
  }
  return walk;
}

class BlockRun {
 public:
  BlockRun(const planner::BlockCosts& costs, BlockCollective collective)
      : costs_(costs), collective_(collective), completion_ns_(costs.node_count(), -1) {}

  absl::StatusOr<BlockRunResult> Run(const planner::BlockTrees& trees);

 private:
  using Blocks = std::vector<uint64_t>;

  uint32_t node_count() const { return costs_.node_count(); }
  int64_t NowNs() const { return simulator_.NowNs(); }
  template <typename Event>
  void At(int64_t ns, uint32_t node, Event event) {
    simulator_.At(absl::FromUnixNanos(ns), node, std::move(event));
  }
  void Count(uint32_t blocks) {
    ++messages_;
    blocks_sent_ += blocks;
  }

  void StartGather();
  void TakeNext(uint32_t v);
  void SendUp(uint32_t v);
  void StartScatter();
  void StartBroadcast();
  void SendDown(uint32_t v, size_t child);
  absl::Status Check() const;

  const planner::BlockCosts& costs_;
  const BlockCollective collective_;
  Simulator simulator_;
  Walk up_, down_;

  // blocks_[v] has the blocks of v's subtree that v has received, by place minus v's own.
  std::vector<Blocks> blocks_;
  // A Receiver is the state of a node that receives from its children in a gather.
  struct Receiver {
    std::vector<uint32_t> heads;  // children whose message has arrived but was not received yet
    size_t taken = 0;             // number of children received from, the last child first
    bool waits = false;           // true: idle until the next child's message arrives
  };
  std::vector<Receiver> receivers_;
  // all_ has the blocks at the root after a gather, and, for an allgather, the nodes that have received them.
  Blocks all_;
  std::vector<bool> has_all_;

  std::vector<int64_t> completion_ns_;
  uint64_t messages_ = 0, blocks_sent_ = 0;
};

void BlockRun::StartGather() {
  receivers_.resize(node_count());
  for (uint32_t v = 0; v < node_count(); ++v) {
    blocks_[v].assign(up_.blocks[v], 0);
    blocks_[v][0] = BlockOf(v);
    At(0, v, [this, v] { TakeNext(v); });
  }
}

// Requires that v is free. Receives the next child's message if it has arrived, or sends to the parent after the last
// one.
void BlockRun::TakeNext(uint32_t v) {
  Receiver& receiver = receivers_[v];
  const std::vector<uint32_t>& children = up_.children[v];
  if (receiver.taken == children.size()) {
    SendUp(v);
    return;
  }
  const uint32_t child = children[children.size() - 1 - receiver.taken];
  const auto head = std::find(receiver.heads.begin(), receiver.heads.end(), child);
  receiver.waits = head == receiver.heads.end();
  if (receiver.waits) return;
  receiver.heads.erase(head);
  ++receiver.taken;
  std::copy(blocks_[child].begin(), blocks_[child].end(),
            blocks_[v].begin() + static_cast<ptrdiff_t>(up_.place[child] - up_.place[v]));
  blocks_[child] = {};
  const int64_t busy_ns = costs_.Receive(v) + costs_.Between(child, v, up_.blocks[child]).stream_ns;
  At(NowNs() + busy_ns, v, [this, v] { TakeNext(v); });
}

void BlockRun::SendUp(uint32_t v) {
  if (up_.place[v] == 0) {
    completion_ns_[v] = NowNs();
    all_ = blocks_[v];
    if (collective_ == BlockCollective::kAllgather) StartBroadcast();
    return;
  }
  const uint32_t parent = up_.parent[v];
  completion_ns_[v] = NowNs() + costs_.Send(v);
  Count(up_.blocks[v]);
  At(completion_ns_[v] + costs_.Between(v, parent, up_.blocks[v]).latency_ns, parent, [this, v, parent] {
    receivers_[parent].heads.push_back(v);
    if (receivers_[parent].waits) TakeNext(parent);
  });
}

void BlockRun::StartScatter() {
  const uint32_t root = down_.node_at[0];
  completion_ns_[root] = 0;
  for (const uint32_t v : down_.node_at) blocks_[root].push_back(BlockOf(v));
  At(0, root, [this, root] { SendDown(root, 0); });
}

void BlockRun::StartBroadcast() {
  const uint32_t root = down_.node_at[0];
  has_all_[root] = true;
  SendDown(root, 0);
}

// Requires that v is free. Sends to its child number `child` in serving order, if there is one.
void BlockRun::SendDown(uint32_t v, size_t child) {
  if (child == down_.children[v].size()) return;
  const uint32_t to = down_.children[v][child];
  const bool all = collective_ == BlockCollective::kAllgather;
  const uint32_t count = all ? node_count() : down_.blocks[to];
  const planner::BroadcastCosts::Pair pair = costs_.Between(v, to, count);
  const int64_t sent_ns = NowNs() + costs_.Send(v) + pair.stream_ns;
  Blocks message;
  if (!all) {
    const auto first = blocks_[v].begin() + static_cast<ptrdiff_t>(down_.place[to] - down_.place[v]);
    message.assign(first, first + count);
  }
  Count(count);
  At(sent_ns, v, [this, v, child] { SendDown(v, child + 1); });
  At(sent_ns + pair.latency_ns + costs_.Receive(to), to, [this, v, to, all, message = std::move(message)] {
    completion_ns_[to] = NowNs();
    has_all_[to] = all && has_all_[v];
    if (!all) blocks_[to] = message;
    SendDown(to, 0);
  });
}

absl::Status BlockRun::Check() const {
  const auto wrong = [](uint32_t v) {
    return absl::InternalError(absl::StrCat("simulation: a node has not got what it should (node=", v, ")"));
  };
  for (uint32_t v = 0; v < node_count(); ++v) {
    if (completion_ns_[v] < 0) return wrong(v);
    if (collective_ == BlockCollective::kScatter && (blocks_[v].empty() || blocks_[v][0] != BlockOf(v)))
      return wrong(v);
    if (collective_ == BlockCollective::kAllgather && !has_all_[v]) return wrong(v);
    if (collective_ != BlockCollective::kScatter && all_[up_.place[v]] != BlockOf(v)) return wrong(v);
  }
  return absl::OkStatus();
}

absl::StatusOr<BlockRunResult> BlockRun::Run(const planner::BlockTrees& trees) {
  if (collective_ != BlockCollective::kScatter) {
    ASSIGN_OR_RETURN(up_, WalkOf(trees.up, node_count()));
  }
  if (collective_ != BlockCollective::kGather) {
    ASSIGN_OR_RETURN(down_, WalkOf(trees.down, node_count()));
  }
  const auto started = std::chrono::steady_clock::now();
  blocks_.resize(node_count());
  has_all_.assign(node_count(), false);
  if (collective_ == BlockCollective::kScatter) {
    StartScatter();
  } else {
    StartGather();
  }
  CHECK(simulator_.RunUntilIdle(std::numeric_limits<uint64_t>::max()));
  RETURN_IF_ERROR(Check());
  BlockRunResult result;
  result.run_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  result.messages = messages_;
  result.bytes = blocks_sent_ * costs_.block_bytes();
  result.events = simulator_.events_run();
  result.trace_hash = simulator_.trace_hash();
  result.completion_ns = std::move(completion_ns_);
  result.total_ns = *std::max_element(result.completion_ns.begin(), result.completion_ns.end());
  return result;
}

}  // namespace

absl::StatusOr<BlockRunResult> RunBlocks(const planner::BlockTrees& trees, const planner::BlockCosts& costs,
                                         BlockCollective collective) {
  return BlockRun(costs, collective).Run(trees);
}

}  // namespace copse::sim
