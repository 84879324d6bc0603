// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/kary_tree.h"

#include "base/status_macros.h"

namespace copse::planner {

absl::StatusOr<Neighbours> BuildKaryTree(absl::Span<const uint32_t> order, uint32_t k) {
  RETURN_IF_ERROR(CheckOrder("kary", order));
  RETURN_IF_ERROR(CheckFanout("kary", k));
  struct Range {
    uint32_t begin, end;  // begin is the subtree's root
  };
  TreeBuilder builder(order);
  std::vector<Range> todo = {{0, static_cast<uint32_t>(order.size())}};
  while (!todo.empty()) {
    const Range range = todo.back();
    todo.pop_back();
    uint32_t rest = range.end - range.begin - 1;
    uint32_t begin = range.begin + 1;
    for (uint32_t parts = k; rest > 0; --parts) {
      const uint32_t size = (rest - 1) / parts + 1;
      builder.Connect(range.begin, begin);
      todo.push_back({begin, begin + size});
      begin += size;
      rest -= size;
    }
  }
  return std::move(builder).Take();
}

}  // namespace copse::planner
