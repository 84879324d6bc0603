// SPDX-License-Identifier: Apache-2.0
#include "schedule/knomial.h"

namespace copse::schedule {

std::vector<std::vector<uint32_t>> KnomialNeighbors(absl::Span<const uint32_t> order, uint32_t k) {
  const uint64_t n = order.size();
  std::vector<std::vector<uint32_t>> neighbors(n);
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
        neighbors[order[p]].push_back(order[p + digit * step]);
        neighbors[order[p + digit * step]].push_back(order[p]);
      }
    }
  }
  return neighbors;
}

}  // namespace copse::schedule
