// SPDX-License-Identifier: Apache-2.0
#include "bench/link_use.h"

#include <algorithm>

namespace copse::bench {
namespace {

constexpr double kFrameBytes = 1514, kFramePayload = 1448;

bool IsCycle(const std::string& algorithm) {
  return algorithm == "ring" || algorithm == "bruck" || algorithm == "doubling" || algorithm == "rotated-binomial";
}

// Of all nodes; all but the root have a parent among their neighbours.
uint32_t MostChildren(const std::vector<uint32_t>& neighbours) {
  uint32_t most = 0;
  for (size_t node = 0; node < neighbours.size(); ++node) most = std::max(most, neighbours[node] - (node > 0));
  return most;
}

}  // namespace

double BusiestLinkBytes(const LinkUse& use) {
  if (use.neighbours.size() < 2) return 0;
  for (const uint32_t neighbours : use.neighbours) {
    if (neighbours == 0) return 0;
  }
  const auto bytes = static_cast<double>(use.bytes);
  const auto n = static_cast<double>(use.neighbours.size());
  const bool cycle = IsCycle(use.algorithm);
  if (use.collective == "bcast" || use.collective == "reduce") {
    return cycle ? bytes : bytes * MostChildren(use.neighbours);
  }
  if (use.collective == "allreduce") {
    if (cycle) return 2 * (n - 1) / n * bytes;
    return bytes * *std::max_element(use.neighbours.begin(), use.neighbours.end());
  }
  if (use.collective == "allgather") {
    return cycle ? (n - 1) * bytes : std::max(n * bytes * MostChildren(use.neighbours), (n - 1) * bytes);
  }
  return 0;
}

double PayloadRate(int64_t bits_per_s) { return static_cast<double>(bits_per_s) / 8 * kFramePayload / kFrameBytes; }

}  // namespace copse::bench
