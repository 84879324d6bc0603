// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/chain_tree.h"

#include "base/status_macros.h"

namespace copse::planner {

absl::StatusOr<Neighbours> BuildChainTree(absl::Span<const uint32_t> order) {
  RETURN_IF_ERROR(CheckOrder("chain", order));
  TreeBuilder builder(order);
  for (uint32_t p = 1; p < order.size(); ++p) builder.Connect(p - 1, p);
  return std::move(builder).Take();
}

}  // namespace copse::planner
