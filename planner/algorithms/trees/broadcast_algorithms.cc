// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/broadcast_algorithms.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/algorithms/search/best_tree.h"
#include "planner/algorithms/search/falling_tail.h"
#include "planner/algorithms/search/tree_greedy.h"
#include "planner/algorithms/trees/earliest_completion_first.h"
#include "planner/algorithms/trees/fastest_edge_first.h"
#include "planner/algorithms/trees/fastest_node_first.h"
#include "planner/algorithms/trees/kary_tree.h"
#include "planner/algorithms/trees/knomial_tree.h"
#include "planner/algorithms/trees/look_ahead.h"
#include "planner/algorithms/trees/optimal_tree.h"

namespace copse::planner {
namespace {

NodeOrder RankOrder(uint32_t node_count, uint32_t root) {
  NodeOrder order(node_count);
  for (uint32_t p = 0; p < node_count; ++p) order[p] = (root + p) % node_count;
  return order;
}

}  // namespace

std::string AlgorithmName(std::string_view text) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(AbslView(text)), {{"_", "-"}});
}

absl::StatusOr<BroadcastTree> BuildBroadcast(std::string_view algorithm, const BroadcastCosts& costs, uint32_t root) {
  const uint32_t n = costs.node_count();
  if (root >= n) {
    return absl::InvalidArgumentError(absl::StrCat("root: no such node (root=", root, ", nodes=", n, ")"));
  }
  const std::string name = AlgorithmName(algorithm);
  if (name == "fnf") return BuildFastestNodeFirst(costs, root);
  if (name == "fef-latency") return BuildFastestEdgeFirst(costs, root, EdgeWeight::kLatency);
  if (name == "fef-cost") return BuildFastestEdgeFirst(costs, root, EdgeWeight::kCost);
  if (name == "fcef") return BuildEarliestCompletionOnTree(costs, root);
  if (name == "fcef-bhat") return BuildEarliestCompletionFirst(costs, root, Accounting::kBhat);
  if (name == "la") return BuildLookAhead(costs, root, Accounting::kSound);
  if (name == "la-bhat") return BuildLookAhead(costs, root, Accounting::kBhat);
  if (name == "optimal") return BuildOptimal(costs, root);
  if (name == "best") return BuildBest(costs, root);
  if (name == "mgo") return BuildMgo(costs, root);
  if (name == "mgo-jackson") return WithFallingTails(costs, BuildMgo(costs, root));
  Neighbors neighbors;
  absl::string_view digits = name;
  uint32_t k = 0;
  if (name == "ft") {
    ASSIGN_OR_RETURN(neighbors, BuildFlatTree(RankOrder(n, root)));
  } else if (name == "bt") {
    ASSIGN_OR_RETURN(neighbors, BuildBinomialTree(RankOrder(n, root)));
  } else if (absl::ConsumePrefix(&digits, "knomial-") && absl::SimpleAtoi(digits, &k)) {
    ASSIGN_OR_RETURN(neighbors, BuildKnomialTree(RankOrder(n, root), k));
  } else if (absl::ConsumePrefix(&digits, "kary-") && absl::SimpleAtoi(digits, &k)) {
    ASSIGN_OR_RETURN(neighbors, BuildKaryTree(RankOrder(n, root), k));
  } else {
    return absl::InvalidArgumentError(absl::StrCat("algorithm: unknown (name=", AbslView(algorithm),
                                                   ", known=ft bt knomial-K kary-K fnf fef-latency ",
                                                   "fef-cost fcef fcef-bhat la la-bhat mgo mgo-jackson optimal best)"));
  }
  return TreeOfNeighbors(costs, root, neighbors);
}

}  // namespace copse::planner
