// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/hierarchical_exchange.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/algorithms/center.h"
#include "planner/algorithms/exchanges/recursive_doubling.h"
#include "planner/algorithms/search/best_tree.h"
#include "planner/topology/topology.h"
#include "schedule/plan.h"

namespace copse::planner {
namespace {

// Forest is the union of the groups' trees, by node of the whole team.
struct Forest {
  std::vector<uint32_t> parent;                 // schedule::kNobody at leaders
  std::vector<std::vector<uint32_t>> children;  // in sending order
  std::vector<uint32_t> height, depth;
  std::vector<uint32_t> leaders;  // by group
};

void AddGroup(const BroadcastCosts& costs, const std::vector<uint32_t>& group, Forest& forest) {
  if (group.size() == 1) {
    forest.leaders.push_back(group[0]);
    return;
  }
  const BroadcastCosts its = costs.Restricted(group);
  const uint32_t leader = CenterOf(its, 0);
  forest.leaders.push_back(group[leader]);
  const BroadcastTree tree = BuildBest(its, leader, {.steps = 0});
  for (const BroadcastEdge& edge : tree.edges) {  // a node's depth is known before those of its children
    const uint32_t from = group[edge.from], to = group[edge.to];
    forest.parent[to] = from;
    forest.children[from].push_back(to);
    forest.depth[to] = forest.depth[from] + 1;
  }
  for (auto edge = tree.edges.rbegin(); edge != tree.edges.rend(); ++edge) {
    uint32_t& above = forest.height[group[edge->from]];
    above = std::max(above, forest.height[group[edge->to]] + 1);
  }
}

// Returns the steps among `count` leaders, in rounds from kFirstRound on, and the number of rounds.
absl::StatusOr<std::pair<ExchangeSteps, uint32_t>> LeadersSteps(uint32_t count) {
  if (count > schedule::kRoundPartnersMax + 1) {
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    ASSIGN_OR_RETURN(ExchangeSteps steps, BuildRecursiveDoubling(order));
    uint32_t rounds = 0;
    for (const auto& of_leader : steps) rounds = std::max<uint32_t>(rounds, of_leader.back().round);
    return std::pair(std::move(steps), rounds);
  }
  ExchangeSteps steps(count);
  for (uint32_t a = 0; a < count; ++a) {
    // Each leader begins with its successor, so that the first sends do not all go to one leader.
    for (uint32_t i = 1; i < count; ++i) {
      steps[a].push_back({.round = kFirstRound, .send_to = (a + i) % count, .receive_from = (a + count - i) % count});
    }
  }
  return std::pair(std::move(steps), count > 1 ? 1u : 0u);
}

}  // namespace

std::vector<std::vector<uint32_t>> GroupsOf(const BroadcastCosts& costs) {
  const uint32_t n = costs.node_count(), vertices = costs.vertex_count();
  std::vector<uint32_t> child_count(vertices, 0), last_child(vertices, 0);
  uint32_t top = n;
  for (uint32_t v = 0; v < vertices; ++v) {
    if (costs.ParentOf(v) == topology::kNoParent) {
      top = v;
      continue;
    }
    ++child_count[costs.ParentOf(v)];
    last_child[costs.ParentOf(v)] = v;
  }
  while (top >= n && child_count[top] == 1) top = last_child[top];
  if (top < n) return {{top}};
  std::vector<std::vector<uint32_t>> of_child(vertices);
  bool has_switches = false;
  for (uint32_t v = n; v < vertices; ++v) has_switches |= costs.ParentOf(v) == top;
  for (uint32_t v = 0; v < n; ++v) {
    uint32_t child = v;
    while (costs.ParentOf(child) != top) child = costs.ParentOf(child);
    of_child[child == v && has_switches ? 0 : child].push_back(v);
  }
  std::vector<std::vector<uint32_t>> groups;
  for (auto& group : of_child) {
    if (!group.empty()) groups.push_back(std::move(group));
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

absl::StatusOr<ExchangeSteps> BuildHierarchicalExchange(const BroadcastCosts& costs) {
  const uint32_t n = costs.node_count();
  if (n > schedule::kExchangeNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat("hierarchical: too many nodes for an exchange (nodes=", n,
                                                   ", limit=", schedule::kExchangeNodesMax, ")"));
  }
  Forest forest = {.parent = std::vector<uint32_t>(n, schedule::kNobody),
                   .children = std::vector<std::vector<uint32_t>>(n),
                   .height = std::vector<uint32_t>(n, 0),
                   .depth = std::vector<uint32_t>(n, 0),
                   .leaders = {}};
  for (const std::vector<uint32_t>& group : GroupsOf(costs)) AddGroup(costs, group, forest);

  const uint32_t up = *std::max_element(forest.height.begin(), forest.height.end());
  ASSIGN_OR_RETURN(const auto exchange, LeadersSteps(static_cast<uint32_t>(forest.leaders.size())));
  const uint32_t down = up + exchange.second;
  const uint32_t rounds = down + *std::max_element(forest.depth.begin(), forest.depth.end());
  if (rounds >= schedule::kPhasesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("hierarchical: too many rounds (rounds=", rounds, ", limit=", schedule::kPhasesMax - 1, ")"));
  }
  const auto round = [](uint32_t number) { return static_cast<uint16_t>(number); };
  ExchangeSteps steps(n);
  for (uint32_t v = 0; v < n; ++v) {
    const uint32_t parent = forest.parent[v];
    for (const uint32_t child : forest.children[v]) {
      steps[v].push_back({.round = round(forest.height[v]), .receive_from = child});
    }
    if (parent != schedule::kNobody) {
      steps[v].push_back({.round = round(forest.height[parent]), .send_to = parent});
      steps[v].push_back({.round = round(down + forest.depth[v]), .receive_from = parent, .combine = false});
    }
  }
  for (size_t g = 0; g < forest.leaders.size(); ++g) {
    for (schedule::ExchangeStep step : exchange.first[g]) {
      step.round = round(up + step.round);
      for (uint32_t* partner : {&step.send_to, &step.receive_from}) {
        if (*partner != schedule::kNobody) *partner = forest.leaders[*partner];
      }
      steps[forest.leaders[g]].push_back(step);
    }
  }
  for (uint32_t v = 0; v < n; ++v) {
    for (const uint32_t child : forest.children[v]) {
      steps[v].push_back({.round = round(down + forest.depth[child]), .send_to = child});
    }
  }
  return steps;
}

}  // namespace copse::planner
