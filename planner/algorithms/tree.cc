// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/tree.h"

#include "absl/strings/str_cat.h"
#include "base/string_view.h"
#include "schedule/plan.h"

namespace copse::planner {

absl::Status CheckOrder(std::string_view algorithm, absl::Span<const uint32_t> order) {
  if (order.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(algorithm), ": no nodes (nodes=0, least=1)"));
  }
  if (order.size() > schedule::kNodeCountMax) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(algorithm), ": too many nodes (nodes=", order.size(),
                                                   ", limit=", schedule::kNodeCountMax, ")"));
  }
  std::vector<bool> seen(order.size(), false);
  for (const uint32_t node : order) {
    if (node >= order.size() || seen[node]) {
      return absl::InvalidArgumentError(absl::StrCat(
          AbslView(algorithm), ": not a permutation of the nodes (node=", node, ", nodes=", order.size(), ")"));
    }
    seen[node] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckFanout(std::string_view algorithm, uint32_t k) {
  if (k >= 2 && k <= schedule::kNodeCountMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(AbslView(algorithm), ": k out of range (k=", k, ", least=2, limit=", schedule::kNodeCountMax, ")"));
}

void Connect(uint32_t parent, uint32_t child, Neighbors* neighbors) {
  (*neighbors)[parent].push_back(child);
  (*neighbors)[child].push_back(parent);
}

std::vector<uint32_t> DirectFrom(const Neighbors& neighbors, uint32_t root) {
  std::vector<uint32_t> parent(neighbors.size(), kNoTreeParent);
  std::vector<uint32_t> stack = {root};
  while (!stack.empty()) {
    const uint32_t at = stack.back();
    stack.pop_back();
    for (const uint32_t next : neighbors[at]) {
      if (next == root || next == parent[at] || parent[next] != kNoTreeParent) continue;
      parent[next] = at;
      stack.push_back(next);
    }
  }
  return parent;
}

}  // namespace copse::planner
