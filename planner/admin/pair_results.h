// SPDX-License-Identifier: Apache-2.0
//
// What daemons have measured between pairs of nodes, without their own overheads.
#ifndef COPSE_PLANNER_ADMIN_PAIR_RESULTS_H_
#define COPSE_PLANNER_ADMIN_PAIR_RESULTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "planner/measure/measurement.h"
#include "protocol/control.h"

namespace copse::planner {

struct PairResult {
  std::optional<schedule::MeasureReply> latency;  // the reply with the most pings; nullopt: not measured
  int64_t round_trip_ns = 0;                      // minimum of all replies
  int64_t bandwidth_bytes_per_s = 0;              // maximum of all replies; 0: not measured
  absl::Status status;                            // the newest failure
};

// PairResults merges the replies of each pair: the higher bandwidth and the lower latency count, since a disturbance
// makes a measurement slower. Thread-compatible.
class PairResults {
 public:
  // `wake_ns` is the time of a wake: it is part of each round trip for which a daemon had to sleep.
  explicit PairResults(int64_t wake_ns) : wake_ns_(wake_ns) {}

  void Add(const measure::NodePair& pair, const schedule::MeasureReply& reply);
  void Fail(const measure::NodePair& pair, const absl::Status& status) { results_[pair].status = status; }

  bool IsMeasured(const measure::NodePair& pair) const;
  // Precondition: `result.latency` has a value. Returns it without the overheads and wakes of daemons.
  measure::PairMeasurement MeasurementOf(const measure::NodePair& pair, const PairResult& result) const;
  // Returns those of the pairs that are measured, in their order.
  std::vector<measure::PairMeasurement> Measurements() const;
  const std::map<measure::NodePair, PairResult>& all() const { return results_; }

  // Gives each pair the name that `renumber` returns, or drops it for nullopt. The first of two that get one name
  // stays.
  void Renumber(const std::function<std::optional<measure::NodePair>(const measure::NodePair&)>& renumber);
  // Takes over the results of pairs that this has none of.
  void Merge(PairResults other) { results_.merge(other.results_); }
  // Returns the results, and keeps none.
  PairResults Take();

 private:
  int64_t wake_ns_;
  std::map<measure::NodePair, PairResult> results_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_PAIR_RESULTS_H_
