// SPDX-License-Identifier: Apache-2.0
//
// Work for the processor that overlaps with communication.
#ifndef COPSE_CLI_PERFTEST_COMPUTATION_H_
#define COPSE_CLI_PERFTEST_COMPUTATION_H_

#include <cstdint>

namespace copse::perftest {

// A Computation is a fixed amount of arithmetic on data that stays in the cache. The amount is fixed, not the time, so
// that processor time lost to other processes shows as a longer time. Thread-compatible.
class Computation {
 public:
  // Calibrates for some milliseconds.
  Computation();

  // Returns how many rounds take `us` microseconds on an undisturbed processor; at least 1.
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
