// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/block_counts.h"

#include <numeric>

#include "base/hash.h"

namespace copse::perftest {
namespace {

constexpr uint32_t kNonEmptyEvery = 8;
constexpr uint64_t kRandomWeights = 1024;

// Returns each rank's share of the elements, as a part of the sum of all shares. The sum is above 0.
std::vector<uint64_t> Weights(CountsKind kind, uint32_t ranks) {
  std::vector<uint64_t> weights(ranks, 1);
  switch (kind) {
    case CountsKind::kEqual:
      break;
    case CountsKind::kHeavy:
      if (ranks > 1) weights.back() = ranks - 1;
      break;
    case CountsKind::kRandom:
      for (uint32_t rank = 0; rank < ranks; ++rank) weights[rank] = Mix64(rank + 1) % kRandomWeights;
      weights[0] += 1;  // at least one share is positive
      break;
    case CountsKind::kEmpty:
      for (uint32_t rank = 0; rank < ranks; ++rank) weights[rank] = rank % kNonEmptyEvery == 0 ? 1 : 0;
      break;
  }
  return weights;
}

}  // namespace

std::vector<uint64_t> BlockCounts(CountsKind kind, uint64_t mean, uint32_t ranks) {
  std::vector<uint64_t> counts = Weights(kind, ranks);
  const uint64_t whole = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  const uint64_t total = mean * ranks;
  uint64_t rest = total;
  for (uint64_t& count : counts) {
    // Dividing before multiplying avoids a product of 128 bits, since shares are small.
    count = total / whole * count + total % whole * count / whole;
    rest -= count;
  }
  // The remainder of rounding is smaller than the number of blocks with a share, so each gets at most one more element.
  const std::vector<uint64_t> weights = Weights(kind, ranks);
  for (uint32_t rank = 0; rest > 0; ++rank) {
    if (weights[rank] == 0) continue;
    ++counts[rank];
    --rest;
  }
  return counts;
}

}  // namespace copse::perftest
