// SPDX-License-Identifier: Apache-2.0
//
// Measurements of daemons between two nodes, the input of the solvers.
#ifndef COPSE_PLANNER_MEASURE_MEASUREMENT_H_
#define COPSE_PLANNER_MEASURE_MEASUREMENT_H_

#include <cstdint>

namespace copse::measure {

// NodePair is two different nodes, by index.
struct NodePair {
  uint32_t a = 0;
  uint32_t b = 0;
  friend auto operator<=>(const NodePair&, const NodePair&) = default;
};

struct PairMeasurement {
  NodePair pair;
  int64_t latency_ns = 0;             // one way, the wire's share: without overheads and wakes
  int64_t latency_spread_ns = 0;      // spread of this pair's measurements
  int64_t bandwidth_bytes_per_s = 0;  // 0: not measured
};

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_MEASUREMENT_H_
