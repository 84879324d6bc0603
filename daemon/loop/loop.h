// SPDX-License-Identifier: Apache-2.0
//
// The daemon's one loop: reads rings, progresses the network, spins a little, sleeps.
#ifndef COPSE_DAEMON_LOOP_LOOP_H_
#define COPSE_DAEMON_LOOP_LOOP_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/clock.h"
#include "daemon/loop/poller.h"
#include "daemon/loop/spin_policy.h"

namespace copse::daemon {

// The work that the loop drives. Every call does bounded work and never blocks.
class LoopWork {
 public:
  virtual ~LoopWork() = default;
  // Takes in the posts of clients and other threads. Returns true if there were any.
  virtual bool ReadPosts() = 0;
  // Progresses engine and network, and runs timers. Returns true if it did anything.
  virtual bool Progress() = 0;
  // Notifies clients whether they must ring (DaemonPage::sleeping); a full fence follows the store.
  virtual void SetSleeping(bool sleeping) = 0;
  // Makes the network's descriptor ready at the next arrival. Returns false if something has arrived already:
  // progress again.
  virtual bool ArmNetwork() = 0;
  // Returns the time when Progress or ReadPosts has work even if nothing arrives.
  virtual absl::Time NextDeadline() = 0;
};

struct LoopOptions {
  absl::Duration spin = absl::Microseconds(200);
  // The longest sleep, which bounds the cost of a lost wake-up.
  absl::Duration sleep_max = absl::Milliseconds(100);
};

struct LoopStats {
  uint64_t turns = 0, spins = 0, spins_found = 0, sleeps = 0, sleeps_timed_out = 0, naps = 0;
};

// All calls of a Loop come from one thread. `*clock`, `*poller`, `*work` must outlive it.
class Loop {
 public:
  Loop(const Clock* clock, Poller* poller, LoopWork* work, LoopOptions options);

  // Runs one turn: works until there is nothing, then at most one spin and one sleep.
  void Turn();
  // Runs turns until Stop is called, from within one of the callbacks.
  void Run();
  void Stop() { stopped_ = true; }

  void set_spin(absl::Duration spin) { spin_.set_budget(spin); }
  const LoopStats& stats() const { return stats_; }

 private:
  bool WorkOnce();
  // Works until a round found nothing, but returns after a while so that descriptors are polled.
  bool WorkUntilIdle();
  bool Spin();
  void Sleep();
  // Polls the descriptors, unless that was done just now.
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
