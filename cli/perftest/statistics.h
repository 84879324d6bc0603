// SPDX-License-Identifier: Apache-2.0
//
// What becomes of measured times.
#ifndef COPSE_CLI_PERFTEST_STATISTICS_H_
#define COPSE_CLI_PERFTEST_STATISTICS_H_

#include <vector>

namespace copse::perftest {

double Mean(const std::vector<double>& values);  // 0 of none

// Of one value a call, over the calls of a cell.
struct Percentiles {
  double p10 = 0, median = 0, p90 = 0, p99 = 0;
};
// Between two values a percentile lies on the line from one to the other, as the benchmarks of bench/ have it. All 0 of
// no values.
Percentiles PercentilesOf(std::vector<double> values);

// Of one value a rank, over the ranks.
struct Spread {
  double avg = 0, min = 0, max = 0;
};

// The share of the communication that was hidden behind the computation, in percent from 0 to 100, by the formula of
// the OSU micro-benchmarks: what `overall` has beyond `compute` is the part of `communication` (the time of a call
// without any computation) that was not hidden. Any unit. 0 if communication takes no time.
double OverlapPercent(double overall, double compute, double communication);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_STATISTICS_H_
