// SPDX-License-Identifier: Apache-2.0
//
// Reads the clock for measurements. base/clock.h is unsuitable, since its virtual call and conversion would be part of
// every measured time.
#ifndef COPSE_CLI_PERFTEST_CLOCK_H_
#define COPSE_CLI_PERFTEST_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace copse::perftest {

// Reads CLOCK_MONOTONIC, which takes about 30 ns and no system call.
inline int64_t NowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

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
