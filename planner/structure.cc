// SPDX-License-Identifier: Apache-2.0
#include "planner/structure.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/algorithms/exchanges/circulant.h"
#include "planner/algorithms/exchanges/dissemination.h"
#include "planner/algorithms/exchanges/hierarchical_exchange.h"
#include "planner/algorithms/exchanges/recursive_doubling.h"
#include "planner/algorithms/search/best_tree.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"
#include "planner/algorithms/trees/kary_tree.h"
#include "planner/algorithms/trees/knomial_tree.h"
#include "planner/algorithms/trees/pipeline_tree.h"

namespace copse::planner {
namespace {

// Sets `k` to 4 for "knomial-4" and the prefix "knomial-". Returns false for another prefix, and for anything but a
// positive number without sign and leading zeros.
bool ParseFanout(std::string_view algorithm, std::string_view prefix, uint32_t& k) {
  if (algorithm.substr(0, prefix.size()) != prefix) return false;
  const std::string_view digits = algorithm.substr(prefix.size());
  if (digits.empty() || digits[0] < '1' || digits[0] > '9') return false;
  return absl::SimpleAtoi(AbslView(digits), &k);
}

constexpr std::string_view kByCost[] = {"ft",        "bt", "fnf",     "fef-latency", "fef-cost",    "fef",     "fcef",
                                        "fcef-bhat", "la", "la-bhat", "mgo",         "mgo-jackson", "optimal", "best"};
constexpr std::string_view kHierarchical = "hierarchical";
// The time of these algorithms does not grow by the square of the nodes.
constexpr std::string_view kForManyNodes[] = {"ft", "bt", "fcef", "mgo", "mgo-jackson", "best"};

bool IsOneOf(std::string_view name, absl::Span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status UnknownAlgorithm(std::string_view algorithm) {
  std::string known =
      "flat chain binomial knomial-K kary-K dissemination recursive-doubling hierarchical pipeline-K ring bruck "
      "doubling rotated-binomial pairwise";
  for (const std::string_view name : kByCost) absl::StrAppend(&known, " ", AbslView(name));
  return absl::InvalidArgumentError(
      absl::StrCat("algorithm: unknown (name=", AbslView(algorithm), ", known=", known, ")"));
}

}  // namespace

int64_t PlanningSteps(uint32_t node_count) { return std::min<int64_t>(int64_t{node_count} * 1'000, 1'000'000); }

bool IsByCost(std::string_view algorithm) {
  uint32_t k = 0;
  return IsOneOf(algorithm, kByCost) || algorithm == kHierarchical || ParseFanout(algorithm, "pipeline-", k);
}

absl::StatusOr<Structure> BuildByCost(std::string_view algorithm, const BroadcastCosts& costs, uint32_t root) {
  if (!IsByCost(algorithm)) return UnknownAlgorithm(algorithm);
  Structure result;
  result.algorithm = std::string(algorithm);
  result.root_node = NodeIndex(root);
  result.node_count = costs.node_count();
  if (algorithm == kHierarchical) {
    result.kind = schedule::PlanKind::kExchange;
    ASSIGN_OR_RETURN(result.steps, BuildHierarchicalExchange(costs));
    return result;
  }
  if (costs.node_count() > kBestThoroughNodesMax && !IsOneOf(algorithm, kForManyNodes)) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(algorithm), ": too many nodes for it (nodes=",
                                                   costs.node_count(), ", limit=", kBestThoroughNodesMax, ")"));
  }
  BroadcastTree tree;
  uint32_t k = 0;
  if (algorithm == "best") {
    tree = BuildBest(costs, root, {.steps = PlanningSteps(costs.node_count())});
  } else if (ParseFanout(algorithm, "pipeline-", k)) {
    ASSIGN_OR_RETURN(tree, BuildPipelineTree(costs, root, k));
  } else {
    ASSIGN_OR_RETURN(tree, BuildBroadcast(algorithm == "fef" ? "fef-cost" : algorithm, costs, root));
  }
  result.neighbors = NeighborsOf(tree);
  return result;
}

absl::Status CheckAlgorithm(std::string_view algorithm, Collective collective) {
  const std::vector<uint32_t> order = {0, 1};  // two nodes suffice to build any structure
  Structure structure = {.algorithm = std::string(algorithm)};
  if (algorithm == kHierarchical) {
    structure.kind = schedule::PlanKind::kExchange;
  } else if (!IsByCost(algorithm)) {
    ASSIGN_OR_RETURN(structure, BuildStructure(algorithm, order));
  }
  return CheckCarries(structure, collective);
}

absl::Status CheckCarries(const Structure& structure, Collective collective) {
  if (CanCarry(structure, collective)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "algorithm ", structure.algorithm, ": cannot carry it (collective=", AbslView(CollectiveName(collective)), ")"));
}

absl::StatusOr<Structure> BuildStructure(std::string_view algorithm, absl::Span<const uint32_t> order) {
  Structure result;
  result.algorithm = std::string(algorithm);
  uint32_t k = 0;
  if (algorithm == "flat") {
    ASSIGN_OR_RETURN(result.neighbors, BuildFlatTree(order));
  } else if (algorithm == "chain") {
    ASSIGN_OR_RETURN(result.neighbors, BuildChainTree(order));
  } else if (algorithm == "binomial") {
    ASSIGN_OR_RETURN(result.neighbors, BuildBinomialTree(order));
  } else if (ParseFanout(algorithm, "knomial-", k)) {
    ASSIGN_OR_RETURN(result.neighbors, BuildKnomialTree(order, k));
  } else if (ParseFanout(algorithm, "kary-", k)) {
    ASSIGN_OR_RETURN(result.neighbors, BuildKaryTree(order, k));
  } else if (algorithm == "dissemination") {
    ASSIGN_OR_RETURN(result.steps, BuildDissemination(order));
    result.kind = schedule::PlanKind::kExchange;
  } else if (algorithm == "recursive-doubling") {
    ASSIGN_OR_RETURN(result.steps, BuildRecursiveDoubling(order));
    result.kind = schedule::PlanKind::kExchange;
  } else if (auto distances = CirculantDistances(algorithm, static_cast<uint32_t>(order.size()))) {
    RETURN_IF_ERROR(CheckOrder(algorithm, order));
    result.neighbors = {{order.begin(), order.end()}, *std::move(distances)};
    result.kind = schedule::PlanKind::kCirculant;
  } else {
    return UnknownAlgorithm(algorithm);
  }
  if (result.kind == schedule::PlanKind::kExchange && order.size() > schedule::kExchangeNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(algorithm), ": too many nodes for an exchange (nodes=",
                                                   order.size(), ", limit=", schedule::kExchangeNodesMax, ")"));
  }
  result.root_node = NodeIndex(order[0]);
  result.node_count = static_cast<uint32_t>(order.size());
  return result;
}

uint32_t MostNeighbors(const Structure& structure) {
  if (structure.kind == schedule::PlanKind::kCirculant) return static_cast<uint32_t>(2 * structure.neighbors[1].size());
  size_t most = 0;
  for (const auto& list : structure.neighbors) most = std::max(most, list.size());
  return static_cast<uint32_t>(most);
}

bool CanCarry(const Structure& structure, Collective collective) {
  const bool scans = IsScan(collective);
  switch (structure.kind) {
    case schedule::PlanKind::kTree:
      return collective != Collective::kAlltoall;
    case schedule::PlanKind::kExchange:
      return collective == Collective::kBarrier ||
             (collective == Collective::kAllreduce && structure.algorithm != "dissemination");
    case schedule::PlanKind::kCirculant:
      if (structure.algorithm == "bruck") {
        return collective == Collective::kAllgather || collective == Collective::kAlltoall;
      }
      if (structure.algorithm == "doubling") return scans;
      if (structure.algorithm == "rotated-binomial") {
        return collective == Collective::kAllreduce || collective == Collective::kReduceScatter;
      }
      if (structure.algorithm == "pairwise") return collective == Collective::kAlltoall;
      return scans || collective == Collective::kAllgather || collective == Collective::kReduceScatter ||
             collective == Collective::kBcast || collective == Collective::kReduce ||
             collective == Collective::kAllreduce;
  }
  return false;
}

namespace {

// Returns the edges from each node to the nodes that follow it in the cycle by one of the distances.
std::vector<std::pair<uint32_t, uint32_t>> CycleEdges(absl::Span<const uint32_t> cycle,
                                                      absl::Span<const uint32_t> distances) {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (size_t p = 0; p < cycle.size(); ++p) {
    for (const uint32_t distance : distances) edges.emplace_back(cycle[p], cycle[(p + distance) % cycle.size()]);
  }
  return edges;
}

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> PlanEdges(const schedule::Plan& plan) {
  if (plan.kind == schedule::PlanKind::kCirculant) {
    std::vector<std::pair<uint32_t, uint32_t>> edges = CycleEdges(schedule::CycleOf(plan), schedule::DistancesOf(plan));
    std::sort(edges.begin(), edges.end());
    return edges;
  }
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t v = 0; v < plan.steps.size(); ++v) {
    for (const schedule::ExchangeStep& step : plan.steps[v]) {
      if (step.send_to != schedule::kNobody) edges.emplace_back(v, step.send_to);
    }
  }
  if (plan.kind != schedule::PlanKind::kTree || plan.neighbors.empty()) return edges;
  const std::vector<uint32_t> parent = DirectFrom(plan.neighbors, plan.root_node.value());
  std::vector<uint32_t> queue = {plan.root_node.value()};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const uint32_t child : plan.neighbors[queue[i]]) {
      if (child == parent[queue[i]]) continue;
      edges.emplace_back(queue[i], child);
      queue.push_back(child);
    }
  }
  return edges;
}

std::vector<std::pair<uint32_t, uint32_t>> UndirectedEdges(const schedule::Plan& plan) {
  std::vector<std::pair<uint32_t, uint32_t>> edges = PlanEdges(plan);
  for (auto& [from, to] : edges) {
    if (to < from) std::swap(from, to);
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

}  // namespace copse::planner
