// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/block_counts.h"

#include <numeric>

#include "base/hash.h"

namespace copse::perftest {
namespace {

constexpr uint32_t kNonEmptyEvery = 8;
constexpr uint64_t kRandomWeights = 1024;

// Returns shares of the whole, by kind.
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
    // The order of operations avoids a product of 128 bits: shares are small.
    count = total / whole * count + total % whole * count / whole;
    rest -= count;
  }
  // The remainder of rounding goes to blocks with a share, one element each: it is smaller than their number.
  const std::vector<uint64_t> weights = Weights(kind, ranks);
  for (uint32_t rank = 0; rest > 0; ++rank) {
    if (weights[rank] == 0) continue;
    ++counts[rank];
    --rest;
  }
  return counts;
}

}  // namespace copse::perftest
