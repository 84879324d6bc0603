// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/pair_results.h"

#include <algorithm>
#include <utility>

namespace copse::planner {
namespace {

using measure::NodePair;
using measure::PairMeasurement;

// Daemons spin for this time by default. A wait of at most this time ends without a sleep; every longer wait ends with
// a wake.
constexpr int64_t kSpinNs = 200'000;

}  // namespace

void PairResults::Add(const NodePair& pair, const schedule::MeasureReply& reply) {
  PairResult& result = results_[pair];
  if (!result.latency.has_value() || reply.pings > result.latency->pings) result.latency = reply;
  result.round_trip_ns =
      result.round_trip_ns == 0 ? reply.round_trip_ns : std::min(result.round_trip_ns, reply.round_trip_ns);
  if (reply.bulk_bytes > 0 && reply.bulk_ns > 0) {
    const double rate = static_cast<double>(reply.bulk_bytes) * 1e9 / static_cast<double>(reply.bulk_ns);
    result.bandwidth_bytes_per_s = std::max(result.bandwidth_bytes_per_s, static_cast<int64_t>(rate));
  }
}

bool PairResults::IsMeasured(const NodePair& pair) const {
  const auto it = results_.find(pair);
  return it != results_.end() && it->second.latency.has_value();
}

PairMeasurement PairResults::MeasurementOf(const NodePair& pair, const PairResult& result) const {
  const schedule::MeasureReply& reply = *result.latency;
  const int64_t overheads = reply.send_ns + reply.peer_receive_ns + reply.peer_send_ns + reply.receive_ns;
  const int64_t wake = result.round_trip_ns > kSpinNs ? wake_ns_ : 0;
  return {.pair = pair,
          .latency_ns = std::max<int64_t>(0, (result.round_trip_ns - overheads) / 2 - wake),
          .latency_spread_ns = std::max<int64_t>(0, reply.round_trip_median_ns - result.round_trip_ns) / 2,
          .bandwidth_bytes_per_s = result.bandwidth_bytes_per_s};
}

std::vector<PairMeasurement> PairResults::Measurements() const {
  std::vector<PairMeasurement> measurements;
  for (const auto& [pair, result] : results_) {
    if (result.latency.has_value()) measurements.push_back(MeasurementOf(pair, result));
  }
  return measurements;
}

void PairResults::Renumber(const std::function<std::optional<NodePair>(const NodePair&)>& renumber) {
  for (auto& [pair, result] : std::exchange(results_, {})) {
    if (const std::optional<NodePair> other = renumber(pair)) results_.emplace(*other, result);
  }
}

PairResults PairResults::Take() {
  PairResults taken(wake_ns_);
  taken.results_.swap(results_);
  return taken;
}

}  // namespace copse::planner
