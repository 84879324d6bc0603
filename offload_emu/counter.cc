// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/counter.h"

#include <algorithm>

namespace copse::emu {
namespace {

size_t WordsFor(uint32_t counters, uint32_t edges) { return (size_t{counters} * edges + 63) / 64; }

}  // namespace

CounterBlock::CounterBlock(uint32_t counters, uint32_t edges)
    : counters_(counters), edges_(edges), arrived_(WordsFor(counters, edges)), failed_(WordsFor(counters, edges)) {}

uint64_t CounterBlock::BytesFor(uint32_t counters, uint32_t edges) {
  return sizeof(CounterBlock) + counters * sizeof(Counter) + edges * sizeof(EdgeState) +
         2 * WordsFor(counters, edges) * sizeof(uint64_t);
}

bool CounterBlock::Arrive(uint32_t edge, uint32_t index, bool failed) {
  const uint64_t at = uint64_t{edge} * counters_.size() + index;
  const uint64_t bit = uint64_t{1} << (at % 64);
  if ((arrived_[at / 64] & bit) != 0) return false;
  arrived_[at / 64] |= bit;
  if (failed) failed_[at / 64] |= bit;
  return true;
}

void CounterBlock::ForgetEdge(uint32_t edge) {
  edges_[edge] = EdgeState{};
  for (uint64_t at = uint64_t{edge} * counters_.size(); at < (uint64_t{edge} + 1) * counters_.size(); ++at) {
    arrived_[at / 64] &= ~(uint64_t{1} << (at % 64));
    failed_[at / 64] &= ~(uint64_t{1} << (at % 64));
  }
}

void CounterBlock::Clear() {
  std::fill(counters_.begin(), counters_.end(), Counter{});
  std::fill(edges_.begin(), edges_.end(), EdgeState{});
  std::fill(arrived_.begin(), arrived_.end(), 0);
  std::fill(failed_.begin(), failed_.end(), 0);
}

}  // namespace copse::emu
