// SPDX-License-Identifier: Apache-2.0
//
// Runs the daemon's only event loop: reads the clients' queues, progresses the network, spins a little, sleeps.
#ifndef COPSE_DAEMON_LOOP_LOOP_H_
#define COPSE_DAEMON_LOOP_LOOP_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/clock.h"
#include "daemon/loop/poller.h"
#include "daemon/loop/spin_policy.h"
#include "daemon/loop/turn_meter.h"

namespace copse::daemon {

// LoopWork is the work that the loop drives. Every call does bounded work and never blocks.
class LoopWork {
 public:
  virtual ~LoopWork() = default;
  // Handles the posts of clients and other threads. Returns true if there were any.
  virtual bool ReadPosts() = 0;
  // Progresses engine and network, and runs timers. Returns true if it did anything.
  virtual bool Progress() = 0;
  // Publishes whether clients that post must ring the doorbell (DaemonPage::sleeping), by a seq_cst store.
  virtual void SetSleeping(bool sleeping) = 0;
  // Arms the network's descriptor, so that the next arrival makes it ready. Returns false if something has arrived
  // already: call Progress again.
  virtual bool ArmNetwork() = 0;
  // Returns the time when Progress or ReadPosts has work even if nothing arrives.
  virtual absl::Time NextDeadline() = 0;
};

struct LoopOptions {
  absl::Duration spin = absl::Microseconds(200);
  // A sleep lasts at most this long, which bounds the cost of a lost wake-up.
  absl::Duration sleep_max = absl::Milliseconds(100);
};

struct LoopStats {
  uint64_t turns = 0, spins = 0, spins_found = 0, sleeps = 0, sleeps_timed_out = 0, naps = 0;
};

// A Loop calls its LoopWork and its Poller. All calls come from one thread. `*clock`, `*poller` and `*work` must
// outlive it.
class Loop {
 public:
  Loop(const Clock* clock, Poller* poller, LoopWork* work, LoopOptions options);

  // Runs one iteration: works until there is nothing to do, then spins, and sleeps if that found no work. Returns
  // without spin and sleep if there is work all the time, so that descriptors are polled.
  void Turn();
  // Runs iterations until Stop is called, from within a callback of the work or the poller.
  void Run();
  void Stop() { stopped_ = true; }

  void set_spin(absl::Duration spin) { spin_.set_budget(spin); }
  const LoopStats& stats() const { return stats_; }
  // A turn of the meter is one round of work with the descriptors' callbacks before it.
  const TurnMeter& turns() const { return turns_; }

 private:
  bool WorkOnce();
  // Works until a round has found nothing, and returns false; or for a limited number of rounds, and returns true.
  bool WorkUntilIdle();
  bool Spin();
  void Sleep();
  // Polls the descriptors, unless that was done a moment ago.
  void Look();

  const Clock* const clock_;
  Poller* const poller_;
  LoopWork* const work_;
  const LoopOptions options_;
  SpinPolicy spin_;
  LoopStats stats_;
  TurnMeter turns_;
  uint32_t vain_wakes_ = 0;  // wake-ups in a row by a ready descriptor without any work
  absl::Time looked_ = absl::InfinitePast();
  bool stopped_ = false;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_LOOP_H_
