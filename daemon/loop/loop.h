// SPDX-License-Identifier: Apache-2.0
//
// The daemon's one loop: reads rings, moves the network on, spins a little, sleeps.
#ifndef COPSE_DAEMON_LOOP_LOOP_H_
#define COPSE_DAEMON_LOOP_LOOP_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/clock.h"
#include "daemon/loop/poller.h"
#include "daemon/loop/spin_policy.h"

namespace copse::daemon {

// What the loop turns. Every call does bounded work and never blocks.
class LoopWork {
 public:
  virtual ~LoopWork() = default;
  // Takes in what clients and other threads have posted. True if there was anything.
  virtual bool ReadPosts() = 0;
  // Moves engine and network on, runs timers. True if it did anything.
  virtual bool Progress() = 0;
  // Tells clients whether they must ring (DaemonPage::sleeping); a full fence after it.
  virtual void SetSleeping(bool sleeping) = 0;
  // Makes the network's descriptor ready at the next arrival. False: something is there already,
  // progress again.
  virtual bool ArmNetwork() = 0;
  // When Progress or ReadPosts has something to do even if nothing arrives.
  virtual absl::Time NextDeadline() = 0;
};

struct LoopOptions {
  absl::Duration spin = absl::Microseconds(200);
  // No sleep is longer: what a lost wake-up costs at most.
  absl::Duration sleep_max = absl::Milliseconds(100);
};

struct LoopStats {
  uint64_t turns = 0, spins = 0, spins_found = 0, sleeps = 0, sleeps_timed_out = 0, naps = 0;
};

// A Loop's calls all come from one thread. `*clock`, `*poller`, `*work` outlive it.
class Loop {
 public:
  Loop(const Clock* clock, Poller* poller, LoopWork* work, LoopOptions options);

  // One turn: works until there is nothing, then at most one spin and one sleep.
  void Turn();
  // Turns until Stop is called, from within one of the callbacks.
  void Run();
  void Stop() { stopped_ = true; }

  void set_spin(absl::Duration spin) { spin_.set_budget(spin); }
  const LoopStats& stats() const { return stats_; }

 private:
  bool WorkOnce();
  // Works until a round found nothing, but leaves after a while to look at descriptors.
  bool WorkUntilIdle();
  bool Spin();
  void Sleep();
  // At the descriptors, unless that was done just now.
  void Look();

  const Clock* const clock_;
  Poller* const poller_;
  LoopWork* const work_;
  const LoopOptions options_;
  SpinPolicy spin_;
  LoopStats stats_;
  uint32_t vain_wakes_ = 0;  // in a row: a descriptor was ready, and there was no work
  absl::Time looked_ = absl::InfinitePast();
  bool stopped_ = false;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_LOOP_H_
