// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/block_tree.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"

namespace copse::planner {
namespace {

constexpr std::string_view kNames[] = {"scatter", "gather", "allgather"};

// Returns all trees that "best" tries for messages of `blocks` blocks. FT, BT, k-nomial and k-ary trees do not depend
// on the message's size, so they are tried for one block only.
absl::StatusOr<std::vector<BroadcastTree>> Candidates(const BlockCosts& costs, uint32_t blocks, uint32_t root) {
  const bool thorough = costs.node_count() <= BroadcastCosts::kMatrixNodesMax;
  std::vector<std::string> names = {"fcef", "mgo"};
  if (blocks == 1) names.insert(names.end(), {"ft", "bt"});
  if (thorough) names.insert(names.end(), {"fnf", "fef-latency", "fef-cost", "fcef-bhat", "la", "la-bhat"});
  if (thorough && blocks == 1) {
    for (const uint32_t k : {2u, 3u, 4u, 8u, 16u}) {
      names.push_back(absl::StrCat("kary-", k));
      if (k > 2) names.push_back(absl::StrCat("knomial-", k));
    }
  }
  ASSIGN_OR_RETURN(const BroadcastCosts of_size, costs.Of(blocks));
  std::vector<BroadcastTree> trees;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(trees.emplace_back(), BuildBroadcast(name, of_size, root));
  }
  return trees;
}

// ScatterSearch makes a scatter's tree faster, one move at a time. A tree that it examines counts as one step per node.
class ScatterSearch {
 public:
  ScatterSearch(const BlockCosts* costs, BroadcastTree start, int64_t* steps)
      : costs_(costs), best_(std::move(start)), parent_(costs->node_count(), best_.root), steps_(steps) {
    for (const BroadcastEdge& edge : best_.edges) parent_[edge.to] = edge.from;
  }

  // Moves a subtree to another sender, or exchanges two nodes, until no move helps or the steps are used up.
  BroadcastTree Run() && {
    const uint32_t n = costs_->node_count();
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t v = 0; v < n; ++v) {
        for (uint32_t u = 0; u < n && v != best_.root; ++u) {
          if (*steps_ <= 0) return std::move(best_);
          if (u == v) continue;
          if (u != parent_[v] && !IsBelow(u, v)) moved |= Try(Relocated(v, u));
          if (u < v && u != best_.root) moved |= Try(Swapped(v, u));
        }
      }
    }
    return std::move(best_);
  }

 private:
  using Parents = std::vector<uint32_t>;  // the root is its own parent

  bool IsBelow(uint32_t u, uint32_t v) const {
    while (u != v && u != best_.root) u = parent_[u];
    return u == v;
  }
  Parents Relocated(uint32_t v, uint32_t u) const {
    Parents moved = parent_;
    moved[v] = u;
    return moved;
  }
  Parents Swapped(uint32_t v, uint32_t u) const {
    const auto other = [&](uint32_t w) { return w == v ? u : w == u ? v : w; };
    Parents moved(parent_.size());
    for (uint32_t w = 0; w < moved.size(); ++w) moved[other(w)] = other(parent_[w]);
    return moved;
  }
  bool Try(Parents parents) {
    *steps_ -= costs_->node_count();
    std::vector<std::vector<uint32_t>> children(parents.size());
    for (uint32_t w = 0; w < parents.size(); ++w) {
      if (w != best_.root) children[parents[w]].push_back(w);
    }
    BroadcastTree tree{.root = best_.root};
    const auto serve = [&](uint32_t w) {
      for (const uint32_t child : children[w]) tree.edges.push_back({w, child});
    };
    serve(tree.root);
    for (size_t i = 0; i < tree.edges.size(); ++i) serve(tree.edges[i].to);
    BroadcastTree ordered = WithFallingTailsOfBlocks(*costs_, tree);
    if (ordered.completion_ns >= best_.completion_ns) return false;
    best_ = std::move(ordered);
    parent_ = std::move(parents);
    return true;
  }

  const BlockCosts* costs_;
  BroadcastTree best_;
  Parents parent_;
  int64_t* steps_;
};

absl::StatusOr<BroadcastTree> BestScatter(const BlockCosts& costs, uint32_t root) {
  constexpr uint64_t kSizeStep = 4;
  constexpr size_t kSearched = 4;                 // number of starts
  constexpr uint32_t kSearchedNodesMax = 64;      // more nodes need more steps than the budget has
  constexpr int64_t kStepsOfEachStart = 200'000;  // about 30 ms
  std::vector<BroadcastTree> ordered;
  for (uint64_t blocks = 1; blocks == 1 || blocks < costs.node_count(); blocks *= kSizeStep) {
    ASSIGN_OR_RETURN(const std::vector<BroadcastTree> trees, Candidates(costs, static_cast<uint32_t>(blocks), root));
    for (const BroadcastTree& tree : trees) ordered.push_back(WithFallingTailsOfBlocks(costs, tree));
  }
  const auto faster = [](const BroadcastTree& a, const BroadcastTree& b) { return a.completion_ns < b.completion_ns; };
  std::stable_sort(ordered.begin(), ordered.end(), faster);
  if (costs.node_count() > kSearchedNodesMax) return std::move(ordered.front());
  ordered.resize(std::min(ordered.size(), kSearched));
  for (BroadcastTree& tree : ordered) {
    int64_t steps = kStepsOfEachStart;
    tree = ScatterSearch(&costs, std::move(tree), &steps).Run();
  }
  return *std::min_element(ordered.begin(), ordered.end(), faster);
}

absl::StatusOr<BroadcastTree> TreeFor(const std::string& name, const BlockCosts& costs, uint32_t root) {
  return name == "best" ? BestScatter(costs, root) : BuildBroadcast(name, costs.OfOne(), root);
}

}  // namespace

std::string_view BlockCollectiveName(BlockCollective collective) { return kNames[static_cast<size_t>(collective)]; }

std::optional<BlockCollective> BlockCollectiveFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<BlockCollective>(i);
  }
  return std::nullopt;
}

std::vector<uint32_t> SubtreeBlocks(const BroadcastTree& tree) {
  std::vector<uint32_t> blocks(tree.edges.size() + 1, 1);
  // Every node receives before it sends, so the edges in the subtree of an edge's `to` come after that edge.
  for (size_t i = tree.edges.size(); i-- > 0;) blocks[tree.edges[i].from] += blocks[tree.edges[i].to];
  return blocks;
}

int64_t ScatterCompletion(const BlockCosts& costs, const BroadcastTree& tree) {
  const std::vector<uint32_t> blocks = SubtreeBlocks(tree);
  std::vector<int64_t> ready(costs.node_count(), 0);
  int64_t last = 0;
  for (const BroadcastEdge& edge : tree.edges) {
    const BroadcastCosts::Pair pair = costs.Between(edge.from, edge.to, blocks[edge.to]);
    ready[edge.from] += costs.Send(edge.from) + pair.stream_ns;
    ready[edge.to] = ready[edge.from] + pair.latency_ns + costs.Receive(edge.to);
    last = std::max(last, ready[edge.to]);
  }
  return last;
}

int64_t GatherCompletion(const BlockCosts& costs, const BroadcastTree& tree) {
  const std::vector<uint32_t> blocks = SubtreeBlocks(tree);
  std::vector<int64_t> ready(costs.node_count(), 0);
  for (size_t i = tree.edges.size(); i-- > 0;) {
    const auto [receiver, sender] = tree.edges[i];
    const BroadcastCosts::Pair pair = costs.Between(sender, receiver, blocks[sender]);
    const int64_t head = ready[sender] + costs.Send(sender) + pair.latency_ns;
    ready[receiver] = std::max(ready[receiver], head) + costs.Receive(receiver) + pair.stream_ns;
  }
  return ready[tree.root];
}

BroadcastTree WithFallingTailsOfBlocks(const BlockCosts& costs, const BroadcastTree& tree) {
  struct BlockChild {
    uint32_t node;
    int64_t busy_ns;  // busy time of the parent
    int64_t tail_ns;  // time from then until the child's whole subtree has its blocks
  };
  const std::vector<uint32_t> blocks = SubtreeBlocks(tree);
  std::vector<std::vector<BlockChild>> children(costs.node_count());
  std::vector<int64_t> time(costs.node_count(), 0);  // by node: duration of its subtree after the node has its blocks
  const auto serve = [&](uint32_t v) {
    std::reverse(children[v].begin(), children[v].end());  // restores the given order, for ties
    std::stable_sort(children[v].begin(), children[v].end(),
                     [](const BlockChild& a, const BlockChild& b) { return a.tail_ns > b.tail_ns; });
    int64_t busy = 0;
    for (const BlockChild& child : children[v]) {
      busy += child.busy_ns;
      time[v] = std::max(time[v], busy + child.tail_ns);
    }
  };
  for (size_t i = tree.edges.size(); i-- > 0;) {
    const auto [from, to] = tree.edges[i];
    serve(to);
    const BroadcastCosts::Pair pair = costs.Between(from, to, blocks[to]);
    children[from].push_back({to, costs.Send(from) + pair.stream_ns, pair.latency_ns + costs.Receive(to) + time[to]});
  }
  serve(tree.root);
  BroadcastTree result{.root = tree.root};
  result.edges.reserve(tree.edges.size());
  const auto send = [&](uint32_t v) {
    for (const BlockChild& child : children[v]) result.edges.push_back({v, child.node});
  };
  send(tree.root);
  for (size_t i = 0; i < result.edges.size(); ++i) send(result.edges[i].to);
  result.completion_ns = time[tree.root];
  return result;
}

int64_t BlockCompletion(const BlockCosts& costs, const BlockTrees& trees, BlockCollective collective) {
  if (collective == BlockCollective::kScatter) return ScatterCompletion(costs, trees.down);
  const int64_t gather_ns = GatherCompletion(costs, trees.up);
  return collective == BlockCollective::kGather ? gather_ns : gather_ns + Completion(costs.OfAll(), trees.down.edges);
}

absl::StatusOr<BlockTrees> BuildBlockTrees(std::string_view algorithm, const BlockCosts& costs,
                                           BlockCollective collective, uint32_t root) {
  const std::string name = AlgorithmName(algorithm);
  if (name == "optimal") {
    return absl::InvalidArgumentError(absl::StrCat(
        "algorithm: is of broadcasts (algorithm=optimal, collective=", AbslView(BlockCollectiveName(collective)), ")"));
  }
  if (root >= costs.node_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("root: no such node (root=", root, ", nodes=", costs.node_count(), ")"));
  }
  BlockTrees trees;
  if (collective != BlockCollective::kScatter) {
    ASSIGN_OR_RETURN(trees.up, TreeFor(name, costs.Mirrored(), root));
  }
  if (collective == BlockCollective::kScatter) {
    ASSIGN_OR_RETURN(trees.down, TreeFor(name, costs, root));
  } else if (collective == BlockCollective::kAllgather) {
    ASSIGN_OR_RETURN(trees.down, BuildBroadcast(name, name == "best" ? costs.OfAll() : costs.OfOne(), root));
  }
  trees.completion_ns = BlockCompletion(costs, trees, collective);
  return trees;
}

BlockTrees BlockTreesOf(const BroadcastTree& tree, const BlockCosts& costs, BlockCollective collective) {
  BlockTrees trees;
  if (collective != BlockCollective::kScatter) trees.up = tree;
  if (collective != BlockCollective::kGather) trees.down = tree;
  trees.completion_ns = BlockCompletion(costs, trees, collective);
  return trees;
}

}  // namespace copse::planner
