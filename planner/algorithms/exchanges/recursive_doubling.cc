// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/recursive_doubling.h"

#include "base/status_macros.h"
#include "planner/algorithms/tree.h"

namespace copse::planner {

absl::StatusOr<ExchangeSteps> BuildRecursiveDoubling(absl::Span<const uint32_t> order) {
  RETURN_IF_ERROR(CheckOrder("recursive-doubling", order));
  const uint32_t n = static_cast<uint32_t>(order.size());
  uint32_t core = 1;
  while (core <= n / 2) core *= 2;
  const uint32_t extra = n - core;

  ExchangeSteps steps(n);
  uint16_t round = kFirstRound;
  if (extra > 0) {
    for (uint32_t p = 0; p < 2 * extra; p += 2) {
      steps[order[p]].push_back({.round = round, .send_to = order[p + 1]});
      steps[order[p + 1]].push_back({.round = round, .receive_from = order[p]});
    }
    ++round;
  }
  const auto position_of = [extra](uint32_t member) { return member < extra ? 2 * member + 1 : member + extra; };
  for (uint32_t distance = 1; distance < core; distance *= 2, ++round) {
    for (uint32_t member = 0; member < core; ++member) {
      const uint32_t partner = order[position_of(member ^ distance)];
      steps[order[position_of(member)]].push_back({.round = round, .send_to = partner, .receive_from = partner});
    }
  }
  if (extra > 0) {
    for (uint32_t p = 0; p < 2 * extra; p += 2) {
      steps[order[p + 1]].push_back({.round = round, .send_to = order[p]});
      steps[order[p]].push_back({.round = round, .receive_from = order[p + 1], .combine = false});
    }
  }
  return steps;
}

}  // namespace copse::planner
