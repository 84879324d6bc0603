// SPDX-License-Identifier: Apache-2.0
//
// Defines the measurements between two nodes, from which a topology is computed.
#ifndef COPSE_PLANNER_MEASURE_MEASUREMENT_H_
#define COPSE_PLANNER_MEASURE_MEASUREMENT_H_

#include <cstdint>

namespace copse::measure {

// A NodePair is two different nodes, by index.
struct NodePair {
  uint32_t a = 0;
  uint32_t b = 0;
  friend auto operator<=>(const NodePair&, const NodePair&) = default;
};

struct PairMeasurement {
  NodePair pair;
  int64_t latency_ns = 0;             // one way, without overheads and wakes
  int64_t latency_spread_ns = 0;      // median minus minimum of this pair's latencies
  int64_t bandwidth_bytes_per_s = 0;  // 0: not measured
};

}  // namespace copse::measure

#endif  // COPSE_PLANNER_MEASURE_MEASUREMENT_H_
