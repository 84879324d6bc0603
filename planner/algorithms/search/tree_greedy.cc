// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/tree_greedy.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "planner/algorithms/search/least.h"
#include "planner/algorithms/search/pair_tournament.h"
#include "planner/topology/topology.h"

namespace copse::planner {
namespace {

constexpr uint32_t kNoLevel = PairTournament::kNoLevel;

class Greedy {
 public:
  Greedy(const BroadcastCosts& costs, uint32_t root, absl::Span<const int64_t> bias_ns)
      : costs_(costs),
        bias_ns_(bias_ns),
        tournament_(&costs),
        ready_(costs.node_count(), 0),
        sender_keys_(costs.node_count(), kAbsent),
        receiver_keys_(costs.node_count()) {
    for (uint32_t v = 0; v < costs_.node_count(); ++v) {
      receiver_keys_[v] = costs_.Receive(v) + (bias_ns.empty() ? 0 : bias_ns[v]);
    }
    receiver_keys_[root] = kAbsent;
    tree_.root = root;
    tree_.edges.reserve(costs_.node_count() - 1);
  }

  // Runs lines [3]-[20] of the MGO paper.
  void OpenSubClusters() {
    CountWaiting();
    for (uint32_t level = FindLevel(0); level != kNoLevel; level = FindLevel(level)) {
      level_ = level;
      helper_ns_.assign(costs_.node_count(), 0);
      StartLevel();
      while (unmarked_[level_] > 0) OpenOne();
    }
    tree_.phase1_edges = static_cast<uint32_t>(tree_.edges.size());
    level_ = kNoLevel;
  }

  // Sets the urgency of the sub-clusters that do not have the message.
  void Hurry(absl::Span<const int64_t> urgency_ns) {
    urgent_.assign(urgency_ns.begin(), urgency_ns.end());
    for (uint32_t v = costs_.node_count(); v < costs_.vertex_count(); ++v) tournament_.SetUrgency(v, urgent_[v]);
    Calm(tree_.root);
  }

  // Runs lines [21]-[29] of the MGO paper, which are FCEF.
  BroadcastTree ServeTheRest() && {
    for (uint32_t v = 0; v < costs_.node_count(); ++v) {
      if (receiver_keys_[v] == kAbsent) sender_keys_[v] = ready_[v] + costs_.Send(v);
    }
    tournament_.Reset(sender_keys_, receiver_keys_);
    while (tree_.edges.size() + 1 < costs_.node_count()) {
      const PairTournament::Message message = tournament_.Find();
      const uint32_t s = message.ends.sender(), r = message.ends.receiver();
      ready_[s] += costs_.Send(s) + message.stream_ns;
      ready_[r] = message.ends.cost_ns + message.urgency_ns - (bias_ns_.empty() ? 0 : bias_ns_[r]);
      Record(s, r);
      tournament_.SetSenders(r, ready_[r] + costs_.Send(r), s, ready_[s] + costs_.Send(s));
      if (message.urgency_ns != 0) Calm(r);
    }
    return std::move(tree_);
  }

 private:
  void CountWaiting() {
    const uint32_t n = costs_.node_count(), count = costs_.vertex_count();
    waiting_.assign(count, 0);
    for (uint32_t v = 0; v < n; ++v) waiting_[v] = 1;
    for (uint32_t v = 0; v < n; ++v) ++waiting_[costs_.ParentOf(v)];
    for (uint32_t v = count; v-- > n + 1;) waiting_[costs_.ParentOf(v)] += waiting_[v];
    // Nodes are sorted by switch, so that the nodes below a switch are contiguous.
    first_.assign(count, 0);
    std::vector<uint32_t> next(count, 0);
    for (uint32_t v = n; v < count; ++v) {
      if (v > n) {
        first_[v] = next[costs_.ParentOf(v)];
        next[costs_.ParentOf(v)] += waiting_[v];
      }
      next[v] = first_[v];
    }
    size_.assign(waiting_.begin(), waiting_.end());
    nodes_.resize(n);
    for (uint32_t v = 0; v < n; ++v) nodes_[next[costs_.ParentOf(v)]++] = v;
    marked_.assign(count, false);
    for (uint32_t v = n; v < count; ++v) {
      if (costs_.DepthOf(v) >= unmarked_.size()) unmarked_.resize(costs_.DepthOf(v) + 1, 0);
      ++unmarked_[costs_.DepthOf(v)];
    }
    Reach(tree_.root);
  }

  uint32_t FindLevel(uint32_t from) const {
    for (uint32_t level = from; level < unmarked_.size(); ++level) {
      if (unmarked_[level] > 0) return level;
    }
    return kNoLevel;
  }

  uint32_t AncestorAtLevel(uint32_t node) const {
    uint32_t v = costs_.ParentOf(node);
    if (costs_.DepthOf(v) < level_) return kNobody;
    while (costs_.DepthOf(v) > level_) v = costs_.ParentOf(v);
    return v;
  }

  // Ends the urgency of all sub-clusters that have the node.
  void Calm(uint32_t node) {
    for (uint32_t v = costs_.ParentOf(node); v != topology::kNoParent; v = costs_.ParentOf(v)) {
      if (urgent_[v] == 0) continue;
      urgent_[v] = 0;
      tournament_.Calm(v);
    }
  }

  // Marks all sub-clusters that have the node.
  void Reach(uint32_t node) {
    for (uint32_t v = costs_.ParentOf(node); v != topology::kNoParent; v = costs_.ParentOf(v)) {
      --waiting_[v];
      if (marked_[v]) continue;
      marked_[v] = true;
      --unmarked_[costs_.DepthOf(v)];
    }
  }

  int64_t KeyOf(uint32_t node) const { return ready_[node] + costs_.Send(node) + helper_ns_[node]; }

  // Looks up the sender's helper and sets `*helper`. Returns the time for which the send to it keeps the sender busy; 0
  // without a helper.
  int64_t HelperNs(uint32_t sender, uint32_t* helper) {
    *helper = tournament_.HelperOf(sender);
    return *helper == kNobody ? 0 : costs_.Busy(sender, *helper);
  }

  void StartLevel() {
    const uint32_t n = costs_.node_count(), count = costs_.vertex_count();
    std::vector<bool> open(count, false);
    for (uint32_t v = n; v < count; ++v) open[v] = !marked_[v];
    // The first Reset has no senders: helpers, which depend on receivers only, are looked up before keys are computed.
    std::fill(sender_keys_.begin(), sender_keys_.end(), kAbsent);
    tournament_.Reset(sender_keys_, receiver_keys_, level_, open);
    uint32_t helper = kNobody;
    const auto start = [&](uint32_t v) {
      helper_ns_[v] = HelperNs(v, &helper);
      sender_keys_[v] = KeyOf(v);
    };
    start(tree_.root);
    for (const BroadcastEdge& edge : tree_.edges) start(edge.to);
    tournament_.Reset(sender_keys_, receiver_keys_, level_, open);
  }

  void OpenOne() {
    for (;;) {
      const PairTournament::Message message = tournament_.Find();
      const uint32_t s = message.ends.sender(), r = message.ends.receiver();
      uint32_t helper = kNobody;
      const int64_t helper_ns = HelperNs(s, &helper);
      if (helper_ns != helper_ns_[s]) {
        helper_ns_[s] = helper_ns;
        tournament_.SetSender(s, KeyOf(s));
        continue;
      }
      if (helper != kNobody) Inform(s, helper);
      Inform(s, r);
      // The deliveries may have changed the helpers of all three nodes.
      Settle(s);
      if (helper != kNobody) Settle(helper);
      Settle(r);
      return;
    }
  }

  void Inform(uint32_t sender, uint32_t receiver) {
    const uint32_t own = AncestorAtLevel(receiver);
    const bool opens = !marked_[own];
    Deliver(sender, receiver);
    Reach(receiver);
    // The receiver gets its key as a sender in Settle; Find is not called before that.
    tournament_.SetSender(receiver, kAbsent);
    if (opens) tournament_.Close(own);
    if (waiting_[own] == 0) ForgetHelpers(own);
  }

  void Settle(uint32_t node) {
    uint32_t helper = kNobody;
    helper_ns_[node] = HelperNs(node, &helper);
    tournament_.SetSender(node, KeyOf(node));
  }

  // Removes the helpers of all nodes below a switch when all of these have the message. No other change makes senders
  // cheaper.
  void ForgetHelpers(uint32_t switch_vertex) {
    for (uint32_t i = first_[switch_vertex]; i < first_[switch_vertex] + size_[switch_vertex]; ++i) {
      const uint32_t node = nodes_[i];
      if (helper_ns_[node] == 0) continue;
      helper_ns_[node] = 0;
      tournament_.SetSender(node, KeyOf(node));
    }
  }

  void Deliver(uint32_t sender, uint32_t receiver) {
    const BroadcastCosts::Pair pair = costs_.Between(sender, receiver);
    ready_[sender] += costs_.Send(sender) + pair.stream_ns;
    ready_[receiver] = ready_[sender] + pair.latency_ns + costs_.Receive(receiver);
    receiver_keys_[receiver] = kAbsent;
    Record(sender, receiver);
  }

  void Record(uint32_t sender, uint32_t receiver) {
    tree_.completion_ns = std::max(tree_.completion_ns, ready_[receiver]);
    tree_.edges.push_back({sender, receiver});
  }

  const BroadcastCosts& costs_;
  const absl::Span<const int64_t> bias_ns_;
  PairTournament tournament_;
  BroadcastTree tree_;
  uint32_t level_ = kNoLevel;
  std::vector<int64_t> ready_, sender_keys_, receiver_keys_;
  std::vector<int64_t> helper_ns_;              // by sender: the latest HelperNs, a lower bound
  std::vector<bool> marked_;                    // by vertex
  std::vector<uint32_t> unmarked_;              // number of unmarked switches, by depth
  std::vector<uint32_t> waiting_;               // by vertex: number of nodes below it without the message
  std::vector<uint32_t> first_, size_, nodes_;  // the nodes below switch v are nodes_[first_[v], first_[v] + size_[v])
  std::vector<int64_t> urgent_;                 // by vertex: urgency in ns
};

}  // namespace

BroadcastTree BuildMgo(const BroadcastCosts& costs, uint32_t root) {
  Greedy greedy(costs, root, {});
  greedy.OpenSubClusters();
  return std::move(greedy).ServeTheRest();
}

BroadcastTree BuildEarliestCompletionOnTree(const BroadcastCosts& costs, uint32_t root,
                                            absl::Span<const int64_t> receiver_bias_ns,
                                            absl::Span<const int64_t> urgency_ns) {
  Greedy greedy(costs, root, receiver_bias_ns);
  if (!urgency_ns.empty()) greedy.Hurry(urgency_ns);
  return std::move(greedy).ServeTheRest();
}

std::vector<int64_t> UrgencyOf(const BroadcastCosts& costs, const BroadcastTree& tree) {
  const uint32_t n = costs.node_count(), count = costs.vertex_count();
  std::vector<int64_t> first = Arrivals(costs, tree.edges), last = first;
  first.resize(count, std::numeric_limits<int64_t>::max());
  last.resize(count, 0);
  const auto raise = [&](uint32_t v) {
    const uint32_t above = costs.ParentOf(v);
    if (above == topology::kNoParent) return;
    first[above] = std::min(first[above], first[v]);
    last[above] = std::max(last[above], last[v]);
  };
  for (uint32_t v = 0; v < n; ++v) raise(v);
  for (uint32_t v = count; v-- > n;) raise(v);
  // The urgency of a switch below is subtracted, since a message to a node there gets both.
  std::vector<int64_t> urgency(count, 0), below(count, 0);
  for (uint32_t v = count; v-- > n;) {
    const int64_t takes = last[v] - first[v];
    urgency[v] = std::max<int64_t>(0, takes - below[v]);
    if (costs.ParentOf(v) == topology::kNoParent) continue;
    below[costs.ParentOf(v)] = std::max(below[costs.ParentOf(v)], urgency[v] + below[v]);
  }
  return urgency;
}

}  // namespace copse::planner
