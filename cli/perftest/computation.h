// SPDX-License-Identifier: Apache-2.0
//
// Provides work for the processor that can be overlapped with communication.
#ifndef COPSE_CLI_PERFTEST_COMPUTATION_H_
#define COPSE_CLI_PERFTEST_COMPUTATION_H_

#include <cstdint>

namespace copse::perftest {

// A Computation runs a given amount of arithmetic on data that stays in the cache. The amount is given, not the time,
// so that processor time lost to other processes shows as a longer time. Thread-compatible.
class Computation {
 public:
  // Measures the speed of Run, which takes some milliseconds.
  Computation();

  // Returns the number of rounds, at least 1, that take `us` microseconds on an undisturbed processor.
  uint64_t RoundsFor(double us) const;
  void Run(uint64_t rounds);

 private:
  static constexpr int kWidth = 64;

  float a_[kWidth];
  float x_[kWidth];
  double rounds_per_us_ = 1;
};

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_COMPUTATION_H_
