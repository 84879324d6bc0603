// SPDX-License-Identifier: Apache-2.0
//
// The clock of measurements. Not base/clock.h: a virtual call and a conversion would be part of every time.
#ifndef COPSE_CLI_PERFTEST_CLOCK_H_
#define COPSE_CLI_PERFTEST_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace copse::perftest {

// CLOCK_MONOTONIC: about 30 ns, and no system call.
inline int64_t NowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline double ToUs(int64_t ns) { return static_cast<double>(ns) / 1e3; }

// What one reading costs here.
inline double TimerNs() {
  constexpr int kReadings = 1000;
  const int64_t start = NowNs();
  for (int i = 1; i < kReadings; ++i) NowNs();
  return static_cast<double>(NowNs() - start) / kReadings;
}

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_CLOCK_H_
