// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/binomial_tree.h"

#include "base/status_macros.h"

namespace copse::planner {

absl::StatusOr<Neighbours> BuildBinomialTree(absl::Span<const uint32_t> order) {
  RETURN_IF_ERROR(CheckOrder("binomial", order));
  const uint64_t n = order.size();
  TreeBuilder builder(order);
  for (uint64_t p = 0; p < n; ++p) {
    uint64_t distance = p == 0 ? uint64_t{1} << 63 : p & -p;
    while (distance >= n) distance >>= 1;
    if (p != 0 && distance == (p & -p)) distance >>= 1;
    for (; distance > 0; distance >>= 1) {
      if (p + distance < n) builder.Connect(static_cast<uint32_t>(p), static_cast<uint32_t>(p + distance));
    }
  }
  return std::move(builder).Take();
}

}  // namespace copse::planner
