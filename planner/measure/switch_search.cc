// SPDX-License-Identifier: Apache-2.0
#include "planner/measure/switch_search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace copse::measure {
namespace {

// A link between switches has at least this latency, as a share of the shortest path across it.
constexpr double kGapShare = 0.05;
// This share suffices if the latency is also kSureGapMisses times the fit error of the tree before any switches are
// merged, since the measurements then agree on the link.
constexpr double kSureGapShare = 0.01;
constexpr double kSureGapMisses = 8;
// The fit error is used from this many nodes on, since a tree of fewer nodes fits nearly any measurements.
constexpr uint32_t kSureNodesMin = 6;
// A link between switches has at least this latency, as a multiple of the median spread of the pairs' measurements.
constexpr double kGapSpreads = 2;

// A GraphLink belongs to an unrooted tree, whose vertices below the number of nodes are nodes, the others switches.
struct GraphLink {
  uint32_t to = 0;
  double latency_ns = 0;
};
using Graph = std::vector<std::vector<GraphLink>>;

void Connect(uint32_t a, uint32_t b, double latency_ns, Graph* graph) {
  (*graph)[a].push_back({b, latency_ns});
  (*graph)[b].push_back({a, latency_ns});
}

// Returns the tree by the neighbor-joining method. `distance` is symmetric, by node.
Graph JoinNeighbors(std::vector<std::vector<double>> distance) {
  const auto leaves = static_cast<uint32_t>(distance.size());
  Graph graph(leaves);
  if (leaves == 1) {
    graph.emplace_back();
    Connect(0, 1, 0, &graph);
    return graph;
  }
  std::vector<uint32_t> active(leaves);
  for (uint32_t i = 0; i < leaves; ++i) active[i] = i;
  while (active.size() > 2) {
    const auto n = static_cast<double>(active.size());
    std::vector<double> sums(active.size());
    for (size_t i = 0; i < active.size(); ++i) {
      for (const uint32_t other : active) sums[i] += distance[active[i]][other];
    }
    size_t best_i = 0, best_j = 1;
    double best = INFINITY;
    for (size_t i = 0; i < active.size(); ++i) {
      for (size_t j = i + 1; j < active.size(); ++j) {
        const double q = (n - 2) * distance[active[i]][active[j]] - sums[i] - sums[j];
        if (q < best) best = q, best_i = i, best_j = j;
      }
    }
    const uint32_t a = active[best_i], b = active[best_j];
    const double apart = distance[a][b];
    double to_a = std::clamp(apart / 2 + (sums[best_i] - sums[best_j]) / (2 * (n - 2)), 0.0, apart);
    const auto joint = static_cast<uint32_t>(graph.size());
    graph.emplace_back();
    Connect(joint, a, to_a, &graph);
    Connect(joint, b, apart - to_a, &graph);
    for (std::vector<double>& row : distance) row.push_back(0);
    distance.emplace_back(joint + 1, 0.0);
    for (const uint32_t other : active) {
      if (other == a || other == b) continue;
      const double d = std::max(0.0, (distance[a][other] + distance[b][other] - apart) / 2);
      distance[joint][other] = distance[other][joint] = d;
    }
    active.erase(active.begin() + static_cast<ptrdiff_t>(best_j));
    active[best_i] = joint;
  }
  const double rest = distance[active[0]][active[1]];
  if (active[0] < leaves && active[1] < leaves) {  // two nodes get a switch between them
    const auto joint = static_cast<uint32_t>(graph.size());
    graph.emplace_back();
    Connect(joint, active[0], rest / 2, &graph);
    Connect(joint, active[1], rest / 2, &graph);
  } else {
    Connect(active[0], active[1], rest, &graph);
  }
  return graph;
}

class SwitchSearch {
 public:
  SwitchSearch(absl::Span<const std::string> names, std::vector<std::vector<double>> distance, double spread_ns)
      : names_(names),
        leaves_(static_cast<uint32_t>(names.size())),
        distance_(std::move(distance)),
        spread_ns_(spread_ns),
        graph_(JoinNeighbors(distance_)) {}

  absl::StatusOr<topology::Topology> Find() {
    miss_ns_ = Miss();
    while (MergeLeast()) {
    }
    return Rooted(Middle());
  }

 private:
  // Returns by node whether it is at b's side of the link between a and b.
  std::vector<bool> Side(uint32_t a, uint32_t b) const {
    std::vector<bool> side(leaves_);
    std::vector<std::pair<uint32_t, uint32_t>> stack = {{b, a}};
    while (!stack.empty()) {
      const auto [at, from] = stack.back();
      stack.pop_back();
      if (at < leaves_) side[at] = true;
      for (const GraphLink& link : graph_[at]) {
        if (link.to != from) stack.emplace_back(link.to, at);
      }
    }
    return side;
  }

  // Returns the graph's fit error, the root mean square over the degrees of freedom; infinity for too few nodes.
  double Miss() const {
    if (leaves_ < kSureNodesMin) return INFINITY;
    double squares = 0;
    std::vector<uint32_t> previous;
    for (uint32_t i = 0; i < leaves_; ++i) {
      const std::vector<double> far = DistancesFrom(i, &previous);
      for (uint32_t j = 0; j < i; ++j) squares += (distance_[i][j] - far[j]) * (distance_[i][j] - far[j]);
    }
    const double pairs = leaves_ * (leaves_ - 1) / 2.0, links = 2.0 * leaves_ - 3;
    return std::sqrt(squares / (pairs - links));
  }

  double ShortestAcross(uint32_t a, uint32_t b) const {
    const std::vector<bool> side = Side(a, b);
    double shortest = INFINITY;
    for (uint32_t i = 0; i < leaves_; ++i) {
      for (uint32_t j = 0; j < leaves_; ++j) {
        if (side[i] && !side[j]) shortest = std::min(shortest, distance_[i][j]);
      }
    }
    return shortest;
  }

  // Merges the two switches whose link is the smallest share of the required latency. Returns false if no link is below
  // it.
  bool MergeLeast() {
    double least = 1;
    uint32_t keep = 0, drop = 0;
    for (uint32_t a = leaves_; a < graph_.size(); ++a) {
      for (const GraphLink& link : graph_[a]) {
        if (link.to < leaves_ || link.to < a) continue;
        const double shortest = ShortestAcross(a, link.to);
        const double sure = std::max(kSureGapShare * shortest, kSureGapMisses * miss_ns_);
        const double needed = std::max(std::min(kGapShare * shortest, sure), kGapSpreads * spread_ns_);
        const double share = needed > 0 ? link.latency_ns / needed : link.latency_ns > 0 ? 2 : 0;
        if (share < least) least = share, keep = a, drop = link.to;
      }
    }
    if (least >= 1) return false;
    for (const GraphLink& link : graph_[drop]) {
      std::vector<GraphLink>& back = graph_[link.to];
      back.erase(std::find_if(back.begin(), back.end(), [drop = drop](const GraphLink& l) { return l.to == drop; }));
      if (link.to != keep) Connect(keep, link.to, link.latency_ns, &graph_);
    }
    graph_[drop].clear();
    return true;
  }

  std::vector<double> DistancesFrom(uint32_t start, std::vector<uint32_t>* previous) const {
    std::vector<double> far(graph_.size(), -1);
    previous->assign(graph_.size(), start);
    far[start] = 0;
    std::vector<uint32_t> stack = {start};
    while (!stack.empty()) {
      const uint32_t at = stack.back();
      stack.pop_back();
      for (const GraphLink& link : graph_[at]) {
        if (far[link.to] >= 0) continue;
        far[link.to] = far[at] + link.latency_ns;
        (*previous)[link.to] = at;
        stack.push_back(link.to);
      }
    }
    return far;
  }

  // Returns the switch nearest to the middle of the longest path.
  uint32_t Middle() const {
    std::vector<uint32_t> previous;
    const auto farthest = [&](uint32_t from) {
      const std::vector<double> far = DistancesFrom(from, &previous);
      return static_cast<uint32_t>(std::max_element(far.begin(), far.begin() + leaves_) - far.begin());
    };
    const uint32_t one = farthest(0);
    const std::vector<double> far = DistancesFrom(one, &previous);
    const auto other = static_cast<uint32_t>(std::max_element(far.begin(), far.begin() + leaves_) - far.begin());
    uint32_t middle = previous[other];
    for (uint32_t at = previous[other]; at != one; at = previous[at]) {
      if (at < leaves_) continue;
      if (std::abs(far[at] - far[other] / 2) <= std::abs(far[middle] - far[other] / 2)) middle = at;
    }
    return middle < leaves_ ? graph_[middle].front().to : middle;
  }

  absl::StatusOr<topology::Topology> Rooted(uint32_t root) const {
    std::vector<topology::Switch> switches;
    std::vector<topology::Node> nodes(leaves_);
    struct Visit {
      uint32_t at, from, parent;
      double latency_ns;
    };
    std::vector<Visit> stack = {{root, root, topology::kNoParent, 0}};
    while (!stack.empty()) {
      const Visit visit = stack.back();
      stack.pop_back();
      const int64_t latency_ns = std::max<int64_t>(1, std::llround(visit.latency_ns));  // must be positive
      if (visit.at < leaves_) {
        nodes[visit.at] = topology::MakeNode(names_[visit.at], visit.parent, {.latency_ns = latency_ns});
        continue;
      }
      const auto index = static_cast<uint32_t>(switches.size());
      switches.push_back({.name = index == 0 ? "core" : absl::StrCat("sw", index),
                          .parent = visit.parent,
                          .latency_ns = latency_ns,
                          .bandwidth_bytes_per_s = topology::FlatCosts().bandwidth_bytes_per_s});
      // Children are ordered by the first node below, so that names follow the nodes' order.
      std::vector<std::pair<uint32_t, Visit>> below;
      for (const GraphLink& link : graph_[visit.at]) {
        if (link.to == visit.from && visit.at != root) continue;
        const std::vector<bool> side = Side(visit.at, link.to);
        const auto first = static_cast<uint32_t>(std::find(side.begin(), side.end(), true) - side.begin());
        below.push_back({first, {link.to, visit.at, index, link.latency_ns}});
      }
      std::sort(below.begin(), below.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
      for (const auto& [first, next] : below) stack.push_back(next);
    }
    return topology::Topology::Create(std::move(switches), std::move(nodes));
  }

  const absl::Span<const std::string> names_;
  const uint32_t leaves_;
  const std::vector<std::vector<double>> distance_;
  const double spread_ns_;
  Graph graph_;
  double miss_ns_ = 0;
};

}  // namespace

absl::StatusOr<topology::Topology> FindTree(absl::Span<const std::string> nodes,
                                            absl::Span<const PairMeasurement> measurements) {
  if (nodes.empty() || nodes.size() > kSearchNodesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("tree: number of nodes (nodes=", nodes.size(), ", limit=", kSearchNodesMax, ")"));
  }
  std::vector<std::vector<double>> distance(nodes.size(), std::vector<double>(nodes.size(), -1));
  std::vector<int64_t> spreads;
  for (const PairMeasurement& m : measurements) {
    if (m.pair.a >= nodes.size() || m.pair.b >= nodes.size() || m.pair.a == m.pair.b || m.latency_ns < 0) {
      return absl::InvalidArgumentError(absl::StrCat("tree: measurement (a=", m.pair.a, ", b=", m.pair.b,
                                                     ", nodes=", nodes.size(), ", latency_ns=", m.latency_ns, ")"));
    }
    if (distance[m.pair.a][m.pair.b] >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("tree: ", nodes[m.pair.a], " and ", nodes[m.pair.b], " are measured twice"));
    }
    distance[m.pair.a][m.pair.b] = distance[m.pair.b][m.pair.a] = static_cast<double>(m.latency_ns);
    spreads.push_back(m.latency_spread_ns);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    distance[i][i] = 0;
    for (size_t j = 0; j < i; ++j) {
      if (distance[i][j] < 0) {
        return absl::InvalidArgumentError(absl::StrCat("tree: ", nodes[j], " and ", nodes[i], " are not measured"));
      }
    }
  }
  return SwitchSearch(nodes, std::move(distance), static_cast<double>(Median(std::move(spreads)))).Find();
}

std::vector<uint32_t> Landmarks(const topology::Topology& tree) {
  std::vector<std::pair<uint32_t, uint32_t>> first;  // (place of a switch in preorder, the switch's first node)
  std::set<uint32_t> seen;
  for (uint32_t n = 0; n < tree.nodes().size(); ++n) {
    const uint32_t parent = tree.nodes()[n].parent;
    if (seen.insert(parent).second) first.emplace_back(tree.PreorderOf(parent), n);
  }
  std::sort(first.begin(), first.end());
  const size_t count = std::min<size_t>(first.size(), kLandmarksMax);
  std::vector<uint32_t> landmarks;
  for (size_t i = 0; i < count; ++i) landmarks.push_back(first[i * first.size() / count].second);
  return landmarks;
}

absl::StatusOr<topology::Topology> AttachNodes(const topology::Topology& tree, absl::Span<const std::string> more,
                                               absl::Span<const PairMeasurement> measurements) {
  std::vector<const PairMeasurement*> nearest(more.size());
  for (const PairMeasurement& m : measurements) {
    if (m.pair.a >= more.size() || m.pair.b >= tree.nodes().size()) {
      return absl::InvalidArgumentError(absl::StrCat("tree: pair (new=", m.pair.a, ", landmark=", m.pair.b, ")"));
    }
    const PairMeasurement*& best = nearest[m.pair.a];
    if (best == nullptr || m.latency_ns < best->latency_ns) best = &m;
  }
  std::vector<topology::Node> nodes = tree.nodes();
  for (size_t i = 0; i < more.size(); ++i) {
    if (nearest[i] == nullptr) continue;
    topology::Node node = tree.nodes()[nearest[i]->pair.b];
    node.name = more[i];
    node.latency_ns = std::max<int64_t>(1, nearest[i]->latency_ns - node.latency_ns);
    nodes.push_back(std::move(node));
  }
  return topology::Topology::Create(tree.switches(), std::move(nodes), tree.costs());
}

}  // namespace copse::measure
