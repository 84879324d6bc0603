// SPDX-License-Identifier: Apache-2.0
//
// Decides how long a waiting client spins before it blocks.
#ifndef COPSE_CLIENT_PORT_SPINNER_H_
#define COPSE_CLIENT_PORT_SPINNER_H_

#include <cstdint>

#include "base/core_watch.h"

namespace copse::client {

// A spin saves a wake-up if the event comes soon, and takes the core from others if not. So it lasts a few times what
// successful spins took lately, and half as long after each one in vain; from time to time, the longest is tried. No
// spin is made where a yield has shown that another thread computes on this core (CoreWatch). One thread at a time uses
// it; times are nanoseconds of one monotonic clock.
class Spinner {
 public:
  static constexpr int64_t kBudgetNsMax = 100'000;
  static constexpr int64_t kBudgetNsMin = 1'000;  // a shorter spin is not made
  static constexpr uint32_t kTryAgainAfter = 64;  // waits without a spin

  explicit Spinner(bool several_cores) : budget_ns_(several_cores ? kBudgetNsMax : 0), allowed_(several_cores) {}

  // Returns how long to spin now; 0: block at once.
  int64_t Budget(int64_t now_ns) {
    if (!allowed_ || !core_watch_.MaySpin(now_ns)) return 0;
    if (budget_ns_ >= kBudgetNsMin) return budget_ns_;
    if (++waits_ < kTryAgainAfter) return 0;
    waits_ = 0;
    return budget_ns_ = kBudgetNsMax;
  }
  // Takes the time of one sched_yield of a spin. True: the spin has to stop, and Ended is not called.
  bool OnYielded(int64_t now_ns, int64_t took_ns) { return core_watch_.OnYielded(now_ns, took_ns); }
  // Takes the time of a whole spin, and whether it found what it waited for.
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
