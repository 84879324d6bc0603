// SPDX-License-Identifier: Apache-2.0
#include "planner/algorithms/exchanges/circulant.h"

namespace copse::planner {

std::optional<std::vector<uint32_t>> CirculantDistances(std::string_view algorithm, uint32_t n) {
  std::vector<uint32_t> distances;
  if (algorithm == "ring") {
    if (n > 1) distances.push_back(1);
  } else if (algorithm == "bruck" || algorithm == "doubling" || algorithm == "rotated-binomial") {
    for (uint32_t distance = 1; distance < n; distance *= 2) distances.push_back(distance);
  } else if (algorithm == "pairwise") {
    for (uint32_t distance = 1; distance < n; ++distance) distances.push_back(distance);
  } else {
    return std::nullopt;
  }
  return distances;
}

}  // namespace copse::planner
