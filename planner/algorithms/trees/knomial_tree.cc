// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/trees/knomial_tree.h"

#include "base/status_macros.h"
#include "schedule/knomial.h"

namespace copse::planner {

absl::StatusOr<Neighbors> BuildKnomialTree(absl::Span<const uint32_t> order, uint32_t k) {
  RETURN_IF_ERROR(CheckOrder("knomial", order));
  RETURN_IF_ERROR(CheckFanout("knomial", k));
  return schedule::KnomialNeighbors(order, k);
}

absl::StatusOr<Neighbors> BuildBinomialTree(absl::Span<const uint32_t> order) {
  RETURN_IF_ERROR(CheckOrder("binomial", order));
  return schedule::KnomialNeighbors(order, 2);
}

}  // namespace copse::planner
