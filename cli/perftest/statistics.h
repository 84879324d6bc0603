// SPDX-License-Identifier: Apache-2.0
//
// Statistics of measured times.
#ifndef COPSE_CLI_PERFTEST_STATISTICS_H_
#define COPSE_CLI_PERFTEST_STATISTICS_H_

#include <vector>

namespace copse::perftest {

double Mean(const std::vector<double>& values);  // 0 without values

// Percentiles are taken over the calls of a cell, one value per call.
struct Percentiles {
  double p10 = 0, median = 0, p90 = 0, p99 = 0;
};
// Interpolates linearly between two values, like the benchmarks of bench/. All are 0 without values.
Percentiles PercentilesOf(std::vector<double> values);

// Spread is taken over the ranks, one value per rank.
struct Spread {
  double avg = 0, min = 0, max = 0;
};

// Returns the share of the communication that was hidden behind the computation, in percent from 0 to 100, by the
// formula of the OSU micro-benchmarks: `overall` minus `compute` is the share of `communication` (the time of a call
// without any computation) that was not hidden. Any unit. 0 if communication takes no time.
double OverlapPercent(double overall, double compute, double communication);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_STATISTICS_H_
