// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/dissemination.h"

#include "base/status_macros.h"
#include "planner/algorithms/tree.h"

namespace copse::planner {

absl::StatusOr<ExchangeSteps> BuildDissemination(absl::Span<const uint32_t> order) {
  RETURN_IF_ERROR(CheckOrder("dissemination", order));
  const uint64_t n = order.size();
  ExchangeSteps steps(n);
  for (uint64_t p = 0; p < n; ++p) {
    uint16_t round = kFirstRound;
    for (uint64_t distance = 1; distance < n; distance *= 2, ++round) {
      steps[order[p]].push_back(
          {.round = round, .send_to = order[(p + distance) % n], .receive_from = order[(p + n - distance) % n]});
    }
  }
  return steps;
}

}  // namespace copse::planner
