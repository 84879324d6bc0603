// SPDX-License-Identifier: Apache-2.0
//
// Computes statistics of measured times.
#ifndef COPSE_CLI_PERFTEST_STATISTICS_H_
#define COPSE_CLI_PERFTEST_STATISTICS_H_

#include <vector>

namespace copse::perftest {

double Mean(const std::vector<double>& values);  // 0 without values

// Percentiles of the calls of a cell are computed from one value per call.
struct Percentiles {
  double p10 = 0, median = 0, p90 = 0, p99 = 0;
};
// Interpolates linearly between two values, like the benchmarks of bench/. All percentiles are 0 without values.
Percentiles PercentilesOf(std::vector<double> values);

// A Spread is computed from one value per rank.
struct Spread {
  double avg = 0, min = 0, max = 0;
};

// Returns the percentage, from 0 to 100, of the communication that was hidden behind the computation, by the formula of
// the OSU micro-benchmarks: of `communication`, the time of a call without computation, `overall` - `compute` was not
// hidden. The times may have any common unit. Returns 0 if `communication` is not above 0.
double OverlapPercent(double overall, double compute, double communication);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_STATISTICS_H_
