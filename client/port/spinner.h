// SPDX-License-Identifier: Apache-2.0
//
// Decides how long a waiting client spins before it blocks.
#ifndef COPSE_CLIENT_PORT_SPINNER_H_
#define COPSE_CLIENT_PORT_SPINNER_H_

#include <cstdint>

#include "base/process/core_watch.h"

namespace copse::client {

// A Spinner limits the spins of a waiting thread. A spin saves a wake-up if the event comes soon, and otherwise takes
// the core from other threads. So its limit is about three times the mean duration of recent successful spins, and is
// halved by each unsuccessful one; when it has become too short to spin, every 64th wait tries the longest spin. No
// spin is made while sched_yield has shown that another thread computes on this core (CoreWatch). One thread at a time
// uses it; times are in nanoseconds of one monotonic clock.
class Spinner {
 public:
  static constexpr int64_t kBudgetNsMax = 100'000;
  static constexpr int64_t kBudgetNsMin = 1'000;  // shortest spin
  static constexpr uint32_t kTryAgainAfter = 64;  // waits until the longest spin is tried again

  explicit Spinner(bool several_cores) : budget_ns_(several_cores ? kBudgetNsMax : 0), allowed_(several_cores) {}

  // Returns the longest time to spin now; 0: block at once.
  int64_t Budget(int64_t now_ns) {
    if (!allowed_ || !core_watch_.MaySpin(now_ns)) return 0;
    if (budget_ns_ >= kBudgetNsMin) return budget_ns_;
    if (++waits_ < kTryAgainAfter) return 0;
    waits_ = 0;
    return budget_ns_ = kBudgetNsMax;
  }
  // Takes the duration of one sched_yield of a spin. If it returns true, the spin has to stop, and Ended is not called.
  bool OnYielded(int64_t now_ns, int64_t took_ns) { return core_watch_.OnYielded(now_ns, took_ns); }
  // Takes the duration of a whole spin, and whether the event came in it.
  void Ended(bool found, int64_t spent_ns) {
    if (!found) {
      budget_ns_ /= 2;
      return;
    }
    typical_ns_ = (3 * typical_ns_ + spent_ns) / 4;
    const int64_t wanted_ns = 3 * typical_ns_ + kBudgetNsMin;
    budget_ns_ = wanted_ns < kBudgetNsMax ? wanted_ns : kBudgetNsMax;
  }

 private:
  int64_t budget_ns_;
  int64_t typical_ns_ = kBudgetNsMin;
  bool allowed_;
  uint32_t waits_ = 0;
  CoreWatch core_watch_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_SPINNER_H_
