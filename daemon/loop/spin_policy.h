// SPDX-License-Identifier: Apache-2.0
//
// Decides whether the daemon polls a little longer before it sleeps.
#ifndef COPSE_DAEMON_LOOP_SPIN_POLICY_H_
#define COPSE_DAEMON_LOOP_SPIN_POLICY_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/process/core_watch.h"

namespace copse::daemon {

// A SpinPolicy decides whether the loop spins. Spinning saves a wake-up (10 to 30 us) if work comes within the budget,
// and takes a core from others if not. Two questions decide:
//  - Does work come soon? Sleeps that ended within about the budget earn credit; long sleeps and vain spins lose it.
//  - Does another thread want the core? CoreWatch infers it from the time that yields take. The number of running
//    threads says less: ranks and daemons that also spin are no reason to sleep.
// On a single core there is no spinning: the thread that brings work needs the core. Thread-compatible.
class SpinPolicy {
 public:
  // If `budget` is 0, it never spins.
  SpinPolicy(absl::Duration budget, uint32_t cores);

  // Returns the time to spin now; 0: sleep at once.
  absl::Duration Budget(absl::Time now) const;
  // Records the end of a spin and whether it found work.
  void OnSpun(bool found_work);
  // Records a sleep that a descriptor ended after this time; one that timed out counts with its longest time.
  void OnSlept(absl::Duration slept);
  // Records the time that a sched_yield took; returns true if the spin must stop.
  bool OnYielded(absl::Time now, absl::Duration took);

  void set_budget(absl::Duration budget) { budget_ = budget; }

 private:
  absl::Duration budget_;
  const uint32_t cores_;
  int credit_ = 0;
  CoreWatch core_watch_;
};

// Returns the number of cores that this thread may use by its affinity; 1 if that is unknown.
uint32_t UsableCores();

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_SPIN_POLICY_H_
