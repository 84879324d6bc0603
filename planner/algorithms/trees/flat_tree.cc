// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/flat_tree.h"

#include "base/status_macros.h"

namespace copse::planner {

absl::StatusOr<Neighbours> BuildFlatTree(absl::Span<const uint32_t> order) {
  RETURN_IF_ERROR(CheckOrder("flat", order));
  TreeBuilder builder(order);
  for (uint32_t p = 1; p < order.size(); ++p) builder.Connect(0, p);
  return std::move(builder).Take();
}

}  // namespace copse::planner
