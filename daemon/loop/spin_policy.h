// SPDX-License-Identifier: Apache-2.0
//
// Whether the daemon looks for work a little longer before it sleeps.
#ifndef COPSE_DAEMON_LOOP_SPIN_POLICY_H_
#define COPSE_DAEMON_LOOP_SPIN_POLICY_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/core_watch.h"

namespace copse::daemon {

// Spinning saves a wake-up (10 to 30 us) if work comes within the budget, and takes a core from others if not. Two
// questions decide:
//  - Does work come soon? Sleeps that ended within the budget earn credit; long sleeps and vain spins lose it.
//  - Does somebody else want the core? CoreWatch tells by what yields take. How many threads run says less: ranks and
//    daemons that spin too are no reason to sleep.
// On a single core there is no spinning: whoever brings work needs it. Thread-compatible.
class SpinPolicy {
 public:
  // `budget` 0: never spins.
  SpinPolicy(absl::Duration budget, uint32_t cores);

  // How long to spin now; 0: sleep at once.
  absl::Duration Budget(absl::Time now) const;
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
  int credit_ = 0;
  CoreWatch core_watch_;
};

// Cores that this process may use.
uint32_t UsableCores();

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_SPIN_POLICY_H_
