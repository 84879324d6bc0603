// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/early_totals.h"

#include <algorithm>
#include <cstdint>

namespace copse::daemon {
namespace {

constexpr uint64_t kNsPerUs = 1000;

uint64_t Sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

void EarlyTotals::Add(const ClientPort& port) {
  // Each counter is read once, since the client may still write.
  std::array<uint64_t, ring::kEarlyCounts> counts;
  for (uint32_t i = 0; i < ring::kEarlyCounts; ++i) {
    counts[i] = port.early(static_cast<ring::EarlyCount>(i));
    sums_[i] = Sum(sums_[i], counts[i]);
  }
  const auto of = [&](ring::EarlyCount count) { return counts[static_cast<uint32_t>(count)]; };
  const uint64_t behind = of(ring::EarlyCount::kBehindNs);
  const uint64_t seen = Sum(of(ring::EarlyCount::kInsideNs), of(ring::EarlyCount::kTouchesNs));
  hidden_ns_ = Sum(hidden_ns_, behind - std::min(behind, seen));
}

void EarlyTotals::AppendCounters(std::map<std::string, uint64_t>* counters) const {
  const auto of = [&](ring::EarlyCount count) { return sums_[static_cast<uint32_t>(count)]; };
  (*counters)["early.calls"] = of(ring::EarlyCount::kCalls);
  (*counters)["early.calls_waited"] = of(ring::EarlyCount::kCallsWaited);
  (*counters)["early.pending_bytes"] = of(ring::EarlyCount::kPendingBytes);
  (*counters)["early.inside_us"] = of(ring::EarlyCount::kInsideNs) / kNsPerUs;
  (*counters)["early.behind_us"] = of(ring::EarlyCount::kBehindNs) / kNsPerUs;
  (*counters)["early.hidden_us"] = hidden_ns_ / kNsPerUs;
  (*counters)["early.touches"] = of(ring::EarlyCount::kTouches);
  (*counters)["early.touches_us"] = of(ring::EarlyCount::kTouchesNs) / kNsPerUs;
  (*counters)["early.fuses_blown"] = of(ring::EarlyCount::kFusesBlown);
}

}  // namespace copse::daemon
