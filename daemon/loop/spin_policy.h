// SPDX-License-Identifier: Apache-2.0
//
// Whether the daemon looks for work a little longer before it sleeps.
#ifndef COPSE_DAEMON_LOOP_SPIN_POLICY_H_
#define COPSE_DAEMON_LOOP_SPIN_POLICY_H_

#include <cstdint>

#include "absl/time/time.h"

namespace copse::daemon {

// Spinning saves a wake-up (10 to 30 us) if work comes within the budget, and steals a core if not.
// Two questions decide:
//  - Does work come soon? Sleeps that ended within the budget earn credit; long sleeps and vain
//  spins lose it.
//  - Is a core free? Not if more threads run than there are cores, and not if a yield gave the core
//  away for long:
//    then there is no spinning for a pause that doubles each time.
// Thread-compatible.
class SpinPolicy {
 public:
  // `budget` 0: never spins. `threads_running` (system-wide, with ourselves) is asked at most every
  // 10 ms; 0: unknown.
  SpinPolicy(absl::Duration budget, uint32_t cores, uint32_t (*threads_running)());

  // How long to spin now; 0: sleep at once.
  absl::Duration Budget(absl::Time now);
  // A spin ended: work was found or not.
  void OnSpun(bool found_work);
  // A sleep of this length ended with work.
  void OnSlept(absl::Duration slept);
  // One sched_yield took this long; true: stop spinning.
  bool OnYielded(absl::Time now, absl::Duration took);

  void set_budget(absl::Duration budget) { budget_ = budget; }

 private:
  absl::Duration budget_;
  const uint32_t cores_;
  uint32_t (*const threads_running_)();
  int credit_ = 0;
  bool core_free_ = true;
  absl::Time asked_ = absl::InfinitePast();
  absl::Time paused_until_ = absl::InfinitePast();
  absl::Duration pause_;
};

// From /proc/loadavg; 0 if unreadable.
uint32_t ThreadsRunning();
// Cores that this process may use.
uint32_t UsableCores();

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_SPIN_POLICY_H_
