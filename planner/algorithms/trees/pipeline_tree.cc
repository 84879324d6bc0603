// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/pipeline_tree.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace copse::planner {
namespace {

constexpr uint32_t kNobody = 0xffffffff;

struct PipelineSender {
  uint32_t node;
  uint32_t children;
  int64_t ready_ns;
};
// An Offer is the sender from which a node without the message would have it earliest, and that time.
struct Offer {
  uint32_t sender = kNobody;
  int64_t score_ns = 0;
};

void Improve(const BroadcastCosts& costs, const PipelineSender& sender, uint32_t receiver, Offer& offer) {
  const int64_t score = sender.ready_ns + costs.Cost(sender.node, receiver);
  if (offer.sender != kNobody && std::pair(score, sender.node) >= std::pair(offer.score_ns, offer.sender)) return;
  offer = {sender.node, score};
}

}  // namespace

absl::StatusOr<BroadcastTree> BuildPipelineTree(const BroadcastCosts& costs, uint32_t root, uint32_t fanout) {
  if (fanout == 0) return absl::InvalidArgumentError("pipeline: k out of range (k=0, least=1)");
  const uint32_t n = costs.node_count();
  BroadcastTree tree;
  tree.root = root;
  std::vector<PipelineSender> senders = {{root, 0, 0}};  // senders that may have more children
  std::vector<uint32_t> without;
  for (uint32_t v = 0; v < n; ++v) {
    if (v != root) without.push_back(v);
  }
  std::vector<Offer> offers(n);
  for (const uint32_t v : without) Improve(costs, senders[0], v, offers[v]);
  while (!without.empty()) {
    const auto next = std::min_element(without.begin(), without.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(offers[a].score_ns, offers[a].sender) < std::pair(offers[b].score_ns, offers[b].sender);
    });
    const uint32_t receiver = *next, from = offers[receiver].sender;
    without.erase(next);
    tree.edges.push_back({from, receiver});
    const auto sender =
        std::find_if(senders.begin(), senders.end(), [&](const PipelineSender& item) { return item.node == from; });
    sender->ready_ns += costs.Busy(from, receiver);
    if (++sender->children == fanout) senders.erase(sender);
    senders.push_back({receiver, 0, offers[receiver].score_ns});
    for (const uint32_t v : without) {
      if (offers[v].sender != from) {
        Improve(costs, senders.back(), v, offers[v]);
        continue;
      }
      offers[v] = {};
      for (const PipelineSender& other : senders) Improve(costs, other, v, offers[v]);
    }
  }
  tree.completion_ns = Completion(costs, tree.edges);
  return tree;
}

}  // namespace copse::planner
