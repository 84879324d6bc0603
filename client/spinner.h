// SPDX-License-Identifier: Apache-2.0
//
// Whether a waiting client looks a little longer before it sleeps.
#ifndef COPSE_CLIENT_SPINNER_H_
#define COPSE_CLIENT_SPINNER_H_

#include <cstdint>

namespace copse::client {

// A spin saves a wake-up if the event comes within microseconds, and steals the core from the daemon or the application
// if not. So it lasts a few times what spins that found something took lately, and halves with each one in vain; from
// time to time, the longest is tried. It ends at once when a sched_yield shows that somebody else wants the core. For
// one thread at a time.
class Spinner {
 public:
  static constexpr int64_t kBudgetNsMax = 20'000;
  static constexpr int64_t kBudgetNsMin = 1'000;  // less is nothing
  static constexpr int64_t kYieldNsMax = 3'000;   // of one that came back at once
  static constexpr uint32_t kTryAgainAfter = 64;  // waits without a spin

  explicit Spinner(bool several_cores) : budget_ns_(several_cores ? kBudgetNsMax : 0), allowed_(several_cores) {}

  // How long to spin now; 0: sleep at once.
  int64_t Budget() {
    if (!allowed_) return 0;
    if (budget_ns_ >= kBudgetNsMin) return budget_ns_;
    if (++waits_ < kTryAgainAfter) return 0;
    waits_ = 0;
    return budget_ns_ = kBudgetNsMax;
  }
  // A spin ended after so long, with what it waited for or without.
  void Ended(bool found, int64_t spent_ns) {
    if (!found) {
      budget_ns_ /= 2;
      return;
    }
    typical_ns_ = (3 * typical_ns_ + spent_ns) / 4;
    const int64_t wanted_ns = 3 * typical_ns_ + kBudgetNsMin;
    budget_ns_ = wanted_ns < kBudgetNsMax ? wanted_ns : kBudgetNsMax;
  }
  // One sched_yield took so long; true: somebody else ran, stop spinning.
  static bool CoreIsWanted(int64_t yield_ns) { return yield_ns > kYieldNsMax; }

 private:
  int64_t budget_ns_;
  int64_t typical_ns_ = kBudgetNsMin;
  bool allowed_;
  uint32_t waits_ = 0;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_SPINNER_H_
