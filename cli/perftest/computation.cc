// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/computation.h"

#include <algorithm>

#include "cli/perftest/clock.h"

namespace copse::perftest {
namespace {

constexpr uint64_t kCalibrationRounds = 20'000;
constexpr int kCalibrations = 10;  // the fastest one counts, since it was disturbed least

}  // namespace

Computation::Computation() {
  for (int i = 0; i < kWidth; ++i) {
    a_[i] = 0.5f;
    x_[i] = static_cast<float>(i);
  }
  int64_t best_ns = INT64_MAX;
  for (int i = 0; i < kCalibrations; ++i) {
    const int64_t start = NowNs();
    Run(kCalibrationRounds);
    best_ns = std::min(best_ns, NowNs() - start);
  }
  rounds_per_us_ = kCalibrationRounds / std::max(1.0, ToUs(best_ns));
}

uint64_t Computation::RoundsFor(double us) const {
  return std::max<uint64_t>(1, static_cast<uint64_t>(us * rounds_per_us_));
}

void Computation::Run(uint64_t rounds) {
  for (uint64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kWidth; ++i) x_[i] = a_[i] * x_[i] + 1.0f;
    asm volatile("" : : "g"(x_) : "memory");  // the compiler must assume that the result is used
  }
}

}  // namespace copse::perftest
