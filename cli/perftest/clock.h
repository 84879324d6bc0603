// SPDX-License-Identifier: Apache-2.0
//
// Reads the clock for measurements.
#ifndef COPSE_CLI_PERFTEST_CLOCK_H_
#define COPSE_CLI_PERFTEST_CLOCK_H_

#include <cstdint>

#include "base/monotonic_ns.h"

namespace copse::perftest {

inline int64_t NowNs() { return static_cast<int64_t>(MonotonicNs()); }
inline double ToUs(int64_t ns) { return static_cast<double>(ns) / 1e3; }

// Measures the mean cost of NowNs on this machine, in ns.
inline double TimerNs() {
  constexpr int kReadings = 1000;
  const int64_t start = NowNs();
  for (int i = 1; i < kReadings; ++i) NowNs();
  return static_cast<double>(NowNs() - start) / kReadings;
}

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_CLOCK_H_
