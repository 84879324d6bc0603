// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/kary_tree.h"

#include "base/status_macros.h"

namespace copse::planner {
namespace {

// Cuts the positions after each root into at most k ranges. Requires k > 0.
Neighbors CutIntoRanges(absl::Span<const uint32_t> order, uint32_t k) {
  struct PositionRange {
    uint32_t begin, end;  // half open; `begin` is the root of its tree
  };
  Neighbors neighbors(order.size());
  std::vector<PositionRange> todo = {{0, static_cast<uint32_t>(order.size())}};
  while (!todo.empty()) {
    const PositionRange tree = todo.back();
    todo.pop_back();
    uint32_t rest = tree.end - tree.begin - 1;
    uint32_t begin = tree.begin + 1;
    for (uint32_t parts = k; rest > 0; --parts) {
      const uint32_t size = (rest - 1) / parts + 1;
      Connect(order[tree.begin], order[begin], &neighbors);
      todo.push_back({begin, begin + size});
      begin += size;
      rest -= size;
    }
  }
  return neighbors;
}

}  // namespace

absl::StatusOr<Neighbors> BuildKaryTree(absl::Span<const uint32_t> order, uint32_t k) {
  RETURN_IF_ERROR(CheckOrder("kary", order));
  RETURN_IF_ERROR(CheckFanout("kary", k));
  return CutIntoRanges(order, k);
}

absl::StatusOr<Neighbors> BuildChainTree(absl::Span<const uint32_t> order) {
  RETURN_IF_ERROR(CheckOrder("chain", order));
  return CutIntoRanges(order, 1);
}

absl::StatusOr<Neighbors> BuildFlatTree(absl::Span<const uint32_t> order) {
  RETURN_IF_ERROR(CheckOrder("flat", order));
  return CutIntoRanges(order, static_cast<uint32_t>(order.size()));
}

}  // namespace copse::planner
