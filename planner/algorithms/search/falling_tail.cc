// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/search/falling_tail.h"

#include <algorithm>
#include <vector>

namespace copse::planner {
namespace {

struct ServedChild {
  uint32_t node = 0;
  int64_t busy_ns = 0;  // time for which the parent is busy with the send
  int64_t tail_ns = 0;  // time from then until the child's whole subtree has the message
  int64_t travel_ns = 0;
};

struct SendEnd {
  int64_t end_ns;
  uint32_t from, to;
};

}  // namespace

BroadcastTree WithFallingTails(const BroadcastCosts& costs, const BroadcastTree& tree) {
  // All children lie in one array, one range per sender, which takes half the memory of vectors and is read in order.
  const uint32_t n = costs.node_count();
  std::vector<uint32_t> first(n + 1, 0);
  for (const BroadcastEdge& edge : tree.edges) ++first[edge.from + 1];
  for (uint32_t v = 0; v < n; ++v) first[v + 1] += first[v];
  std::vector<ServedChild> children(tree.edges.size());
  std::vector<uint32_t> filled(first.begin(), first.end() - 1);
  for (const BroadcastEdge& edge : tree.edges) {
    const BroadcastCosts::Pair pair = costs.Between(edge.from, edge.to);
    children[filled[edge.from]++] = {edge.to, costs.Send(edge.from) + pair.stream_ns, 0,
                                     pair.latency_ns + costs.Receive(edge.to)};
  }
  std::vector<int64_t> time(n, 0);  // by node: duration of its subtree after the node has the message
  const auto serve = [&](uint32_t v) {
    for (uint32_t c = first[v]; c < first[v + 1]; ++c) {
      children[c].tail_ns = children[c].travel_ns + time[children[c].node];
    }
    std::stable_sort(children.begin() + first[v], children.begin() + first[v + 1],
                     [](const ServedChild& a, const ServedChild& b) { return a.tail_ns > b.tail_ns; });
    int64_t busy = 0;
    for (uint32_t c = first[v]; c < first[v + 1]; ++c) {
      busy += children[c].busy_ns;
      time[v] = std::max(time[v], busy + children[c].tail_ns);
    }
  };
  for (size_t i = tree.edges.size(); i-- > 0;) serve(tree.edges[i].to);  // children before their parents
  serve(tree.root);

  std::vector<int64_t> arrival(n, 0);
  std::vector<SendEnd> sent;
  sent.reserve(tree.edges.size());
  const auto send = [&](uint32_t v) {
    int64_t ready = arrival[v];
    for (uint32_t c = first[v]; c < first[v + 1]; ++c) {
      ready += children[c].busy_ns;
      arrival[children[c].node] = ready + children[c].travel_ns;
      sent.push_back({ready, v, children[c].node});
    }
  };
  send(tree.root);
  for (const BroadcastEdge& edge : tree.edges) send(edge.to);
  std::stable_sort(sent.begin(), sent.end(), [](const SendEnd& a, const SendEnd& b) { return a.end_ns < b.end_ns; });

  BroadcastTree result{.root = tree.root};
  result.edges.reserve(sent.size());
  for (const SendEnd& item : sent) result.edges.push_back({item.from, item.to});
  result.completion_ns = time[tree.root];
  return result;
}

}  // namespace copse::planner
