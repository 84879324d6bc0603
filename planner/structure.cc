// SPDX-License-Identifier: Apache-2.0
#include "planner/structure.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/algorithms/best_tree.h"
#include "planner/algorithms/binomial_tree.h"
#include "planner/algorithms/broadcast_algorithms.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/broadcast_tree.h"
#include "planner/algorithms/dissemination.h"
#include "planner/algorithms/flat_tree.h"
#include "planner/algorithms/kary_tree.h"
#include "planner/algorithms/knomial_tree.h"
#include "planner/algorithms/recursive_doubling.h"

namespace copse::planner {
namespace {

// "knomial-4" is 4 for the prefix "knomial-". Leading zeros and signs make it another name.
bool ParseFanout(std::string_view algorithm, std::string_view prefix, uint32_t& k) {
  if (algorithm.substr(0, prefix.size()) != prefix) return false;
  const std::string_view digits = algorithm.substr(prefix.size());
  if (digits.empty() || digits[0] < '1' || digits[0] > '9') return false;
  return absl::SimpleAtoi(AbslView(digits), &k);
}

// What a search may look at: beyond that it gains little, and a team has a tree for each size class.
constexpr int64_t kSearchSteps = 1'000'000;

// One packet's payload: below it nothing is faster.
constexpr uint64_t kPacketBytes = 120;

constexpr char kKnown[] = "flat binomial knomial-K kary-K dissemination recursive-doubling mgo best fnf fcef la fef";

absl::Status Unknown(std::string_view algorithm) {
  return absl::InvalidArgumentError(
      absl::StrCat("algorithm: unknown (name=", AbslView(algorithm), ", known=", kKnown, ")"));
}

}  // namespace

bool GoesByCost(std::string_view algorithm) {
  for (const char* name : {"mgo", "best", "fnf", "fcef", "la", "fef"}) {
    if (algorithm == name) return true;
  }
  return false;
}

uint64_t BytesOfClass(uint64_t bytes_max) {
  return std::clamp<uint64_t>(bytes_max, kPacketBytes, schedule::kSegmentBytesMax);
}

absl::StatusOr<Structure> BuildStructureByCost(std::string_view algorithm, const TeamCosts& costs, uint32_t root,
                                               uint64_t bytes) {
  if (!GoesByCost(algorithm)) return Unknown(algorithm);
  const uint32_t n = costs.node_count();
  std::vector<uint32_t> places(n);
  for (uint32_t v = 0; v < n; ++v) places[v] = costs.PlaceOf(v);
  ASSIGN_OR_RETURN(BroadcastCosts pairs, BroadcastCosts::FromTopology(costs.topology(), places, bytes));
  const bool needs_pairs = algorithm == "fnf" || algorithm == "la" || algorithm == "fef";
  if (needs_pairs && n > BroadcastCosts::kMatrixNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(algorithm), ": too many nodes for all pairs (nodes=", n,
                                                   ", limit=", BroadcastCosts::kMatrixNodesMax, ")"));
  }
  if (needs_pairs) pairs.FillMatrix();
  BroadcastTree tree;
  if (algorithm == "best") {
    tree = BuildBest(pairs, root, {.steps = kSearchSteps});
  } else {
    ASSIGN_OR_RETURN(tree, BuildBroadcast(algorithm == "fef" ? "FEF_cost" : algorithm, pairs, root));
  }
  Structure result;
  result.algorithm = std::string(algorithm);
  result.bytes = bytes;
  result.root_node = root;
  result.neighbours = NeighboursOf(tree);
  return result;
}

absl::StatusOr<Structure> BuildStructure(std::string_view algorithm, absl::Span<const uint32_t> order) {
  Structure result;
  result.algorithm = std::string(algorithm);
  uint32_t k = 0;
  if (algorithm == "flat") {
    ASSIGN_OR_RETURN(result.neighbours, BuildFlatTree(order));
  } else if (algorithm == "binomial") {
    ASSIGN_OR_RETURN(result.neighbours, BuildBinomialTree(order));
  } else if (ParseFanout(algorithm, "knomial-", k)) {
    ASSIGN_OR_RETURN(result.neighbours, BuildKnomialTree(order, k));
  } else if (ParseFanout(algorithm, "kary-", k)) {
    ASSIGN_OR_RETURN(result.neighbours, BuildKaryTree(order, k));
  } else if (algorithm == "dissemination") {
    ASSIGN_OR_RETURN(result.steps, BuildDissemination(order));
    result.kind = schedule::PlanKind::kExchange;
  } else if (algorithm == "recursive-doubling") {
    ASSIGN_OR_RETURN(result.steps, BuildRecursiveDoubling(order));
    result.kind = schedule::PlanKind::kExchange;
  } else if (GoesByCost(algorithm) && order.size() <= 2) {
    ASSIGN_OR_RETURN(result.neighbours, BuildFlatTree(order));
  } else if (GoesByCost(algorithm)) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(algorithm), ": goes by cost, of which there are none here ",
                                                   "(nodes=", order.size(), ", limit=2)"));
  } else {
    return Unknown(algorithm);
  }
  if (result.kind == schedule::PlanKind::kExchange && order.size() > schedule::kExchangeNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(algorithm), ": too many nodes for an exchange (nodes=",
                                                   order.size(), ", limit=", schedule::kExchangeNodesMax, ")"));
  }
  result.root_node = order[0];
  return result;
}

absl::StatusOr<Structure> BuildStructureFor(std::string_view algorithm, absl::Span<const uint32_t> order,
                                            const TeamCosts& costs, uint64_t bytes_max) {
  if (!GoesByCost(algorithm) || order.size() <= 2) return BuildStructure(algorithm, order);
  return BuildStructureByCost(algorithm, costs, order[0], BytesOfClass(bytes_max));
}

bool CanCarry(const Structure& structure, schedule::Collective collective) {
  if (structure.kind == schedule::PlanKind::kTree) return true;
  if (collective == schedule::Collective::kBarrier) return true;
  return collective == schedule::Collective::kAllreduce && structure.algorithm != "dissemination";
}

std::vector<std::pair<uint32_t, uint32_t>> EdgesOf(const Structure& structure) {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t v = 0; v < structure.neighbours.size(); ++v) {
    for (const uint32_t other : structure.neighbours[v]) edges.push_back(std::minmax(v, other));
  }
  for (uint32_t v = 0; v < structure.steps.size(); ++v) {
    for (const schedule::ExchangeStep& step : structure.steps[v]) {
      if (step.send_to != schedule::kNobody) edges.push_back(std::minmax(v, step.send_to));
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::vector<std::pair<uint32_t, uint32_t>> PlanEdges(const schedule::Plan& plan) {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t v = 0; v < plan.steps.size(); ++v) {
    for (const schedule::ExchangeStep& step : plan.steps[v]) {
      if (step.send_to != schedule::kNobody) edges.emplace_back(v, step.send_to);
    }
  }
  if (plan.kind != schedule::PlanKind::kTree || plan.neighbours.empty()) return edges;
  const std::vector<uint32_t> parent = DirectFrom(plan.neighbours, plan.root_node.value());
  std::vector<uint32_t> queue = {plan.root_node.value()};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const uint32_t child : plan.neighbours[queue[i]]) {
      if (child == parent[queue[i]]) continue;
      edges.emplace_back(queue[i], child);
      queue.push_back(child);
    }
  }
  return edges;
}

}  // namespace copse::planner
