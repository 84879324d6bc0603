// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/counter.h"

#include <algorithm>

namespace copse::emu {
namespace {

size_t WordsFor(uint32_t counters, uint32_t edges) { return (size_t{counters} * edges + 31) / 32; }

}  // namespace

CounterBlock::CounterBlock(uint32_t counters, uint32_t edges)
    : counters_(counters), edges_(edges), arrivals_(WordsFor(counters, edges)) {}

uint64_t CounterBlock::BytesFor(uint32_t counters, uint32_t edges) {
  return sizeof(CounterBlock) + counters * sizeof(Counter) + edges * sizeof(EdgeState) +
         WordsFor(counters, edges) * sizeof(uint64_t);
}

bool CounterBlock::Arrive(uint32_t edge, uint32_t index, bool failed) {
  const uint64_t pair = Pair(edge, index);
  if (Arrived(edge, index)) return false;
  WordOf(pair) |= Mask(failed ? kArrived | kFailed : kArrived, pair);
  return true;
}

Sequence* CounterBlock::Landing(uint32_t index) const {
  const auto it = std::find_if(landings_.begin(), landings_.end(), [&](const auto& l) { return l.first == index; });
  return it == landings_.end() ? nullptr : it->second;
}

bool CounterBlock::AddLanding(uint32_t index, Sequence* sequence) {
  if (Landing(index) != nullptr) return false;
  landings_.emplace_back(index, sequence);
  return true;
}

void CounterBlock::RemoveLanding(const Sequence* sequence) {
  const auto it = std::find_if(landings_.begin(), landings_.end(), [&](const auto& l) { return l.second == sequence; });
  if (it == landings_.end()) return;
  *it = landings_.back();
  landings_.pop_back();
}

void CounterBlock::ForgetEdge(uint32_t edge) {
  edges_[edge] = EdgeState{};
  for (uint64_t pair = Pair(edge, 0); pair < Pair(edge + 1, 0); ++pair) {
    WordOf(pair) &= ~Mask(kArrived | kFailed, pair);
  }
}

void CounterBlock::Clear() {
  std::fill(counters_.begin(), counters_.end(), Counter{});
  std::fill(edges_.begin(), edges_.end(), EdgeState{});
  std::fill(arrivals_.begin(), arrivals_.end(), 0);
  landings_.clear();
}

}  // namespace copse::emu
