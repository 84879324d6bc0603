// SPDX-License-Identifier: Apache-2.0
//
// Defines the measurements between two nodes, from which a topology is computed, and their median.
#ifndef COPSE_PLANNER_MEASURE_MEASUREMENT_H_
#define COPSE_PLANNER_MEASURE_MEASUREMENT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

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

// Returns the middle one of the sorted values, of two the greater; 0 without values.
template <typename T>
T Median(std::vector<T> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace copse::measure
#endif  // COPSE_PLANNER_MEASURE_MEASUREMENT_H_
