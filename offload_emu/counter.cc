// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/counter.h"

#include <algorithm>
#include <utility>

namespace copse::emu {
namespace {

size_t WordsFor(uint32_t counters, uint32_t edges) { return (size_t{counters} * edges + 63) / 64; }

}  // namespace

CounterBlock::CounterBlock(uint32_t counters, uint32_t edges)
    : counters_(counters), edges_(edges), arrivals_(WordsFor(counters, edges)) {}

uint64_t CounterBlock::BytesFor(uint32_t counters, uint32_t edges) {
  return sizeof(CounterBlock) + counters * sizeof(Counter) + edges * sizeof(EdgeState) +
         WordsFor(counters, edges) * sizeof(uint64_t);
}

bool CounterBlock::Arrive(uint32_t edge, uint32_t index) {
  if (Arrived(edge, index)) return false;
  const uint64_t pair = Pair(edge, index);
  arrivals_[pair / 64] |= Mask(pair);
  return true;
}

void CounterBlock::Await(absl::Span<const Arrival> arrivals) {
  awaits_any_ = false;
  awaited_.reserve(arrivals.size());
  for (const Arrival& arrival : arrivals) {
    uint32_t& last = edges_[arrival.edge].awaited;
    awaited_.push_back({arrival, std::exchange(last, static_cast<uint32_t>(awaited_.size()) + 1)});
  }
}

bool CounterBlock::Awaits(const Arrival& arrival, const Arrival** awaited) const {
  *awaited = nullptr;
  if (awaits_any_) return true;
  for (uint32_t at = edges_[arrival.edge].awaited; at != 0; at = awaited_[at - 1].before) {
    const Arrival& found = awaited_[at - 1].arrival;
    if (found.counter != arrival.counter) continue;
    *awaited = &found;
    return arrival.failed || (found.bytes == arrival.bytes && found.offset == arrival.offset);
  }
  return false;
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
  for (uint64_t pair = Pair(edge, 0); pair < Pair(edge + 1, 0); ++pair) arrivals_[pair / 64] &= ~Mask(pair);
  early_.erase(
      std::remove_if(early_.begin(), early_.end(), [&](const Arrival& arrival) { return arrival.edge == edge; }),
      early_.end());
}

void CounterBlock::Clear() {
  std::fill(counters_.begin(), counters_.end(), Counter{});
  std::fill(edges_.begin(), edges_.end(), EdgeState{});
  std::fill(arrivals_.begin(), arrivals_.end(), 0);
  early_.clear();
  awaited_.clear();
  awaits_any_ = true;
  landings_.clear();
}

}  // namespace copse::emu
