// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/knomial_tree.h"

#include "base/status_macros.h"

namespace copse::planner {
namespace {

Neighbors ClearLowestDigits(absl::Span<const uint32_t> order, uint32_t k) {
  const uint64_t n = order.size();
  Neighbors neighbors(n);
  uint64_t span_of_root = 1;  // the least power of k that is at least n
  while (span_of_root < n) span_of_root *= k;
  for (uint64_t p = 0; p < n; ++p) {
    uint64_t span = 1;  // length of p's subtree, if it is not cut at n: k^(place of p's lowest nonzero digit)
    if (p == 0) {
      span = span_of_root;
    } else {
      while (p % (span * k) == 0) span *= k;
    }
    for (uint64_t step = span / k; step > 0; step /= k) {
      for (uint64_t digit = 1; digit < k && p + digit * step < n; ++digit) {
        Connect(order[p], order[p + digit * step], &neighbors);
      }
    }
  }
  return neighbors;
}

}  // namespace

absl::StatusOr<Neighbors> BuildKnomialTree(absl::Span<const uint32_t> order, uint32_t k) {
  RETURN_IF_ERROR(CheckOrder("knomial", order));
  RETURN_IF_ERROR(CheckFanout("knomial", k));
  return ClearLowestDigits(order, k);
}

absl::StatusOr<Neighbors> BuildBinomialTree(absl::Span<const uint32_t> order) {
  RETURN_IF_ERROR(CheckOrder("binomial", order));
  return ClearLowestDigits(order, 2);
}

}  // namespace copse::planner
