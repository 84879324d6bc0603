// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/statistics.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace copse::perftest {
namespace {

double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Percentiles PercentilesOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {.p10 = Quantile(values, 0.1),
          .median = Quantile(values, 0.5),
          .p90 = Quantile(values, 0.9),
          .p99 = Quantile(values, 0.99)};
}

double OverlapPercent(double overall, double compute, double communication) {
  if (communication <= 0) return 0;
  return std::clamp(100 * (1 - (overall - compute) / communication), 0.0, 100.0);
}

}  // namespace copse::perftest
