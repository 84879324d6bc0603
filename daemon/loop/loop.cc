// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/loop.h"

#include <sched.h>

#include <algorithm>

#include "absl/time/clock.h"

namespace copse::daemon {
namespace {

// These limit the rounds of work and the time between two polls of descriptors, which announce new clients and signals.
// A poll is a system call, which every small collective would pay for several times otherwise.
constexpr int kRoundsPerTurn = 64;
constexpr absl::Duration kLookEvery = absl::Milliseconds(1);

// While UCX connects, its descriptor is ready all the time (measured: 10 ms, 3500 wake-ups). After this many vain
// wake-ups in a row the loop naps, so that it does not take the core from the peer that it waits for.
constexpr uint32_t kVainWakesMax = 32;
constexpr absl::Duration kNap = absl::Microseconds(50);

}  // namespace

Loop::Loop(const Clock* clock, Poller* poller, LoopWork* work, LoopOptions options)
    : clock_(clock), poller_(poller), work_(work), options_(options), spin_(options.spin, UsableCores()) {}

void Loop::Run() {
  while (!stopped_) Turn();
}

void Loop::Turn() {
  ++stats_.turns;
  if (WorkUntilIdle() || stopped_ || Spin()) {
    Look();
    return;
  }
  Sleep();
}

void Loop::Look() {
  const absl::Time now = clock_->Now();
  if (now - looked_ < kLookEvery) return;
  looked_ = now;
  poller_->Wait(absl::ZeroDuration());
}

bool Loop::WorkOnce() {
  const bool read = work_->ReadPosts();
  const bool progressed = work_->Progress();
  if (read || progressed) vain_wakes_ = 0;
  return read || progressed;
}

bool Loop::WorkUntilIdle() {
  for (int i = 0; i < kRoundsPerTurn; ++i) {
    const bool any = WorkOnce();
    turns_.Mark(clock_->Now());
    if (!any) return false;
  }
  return true;
}

bool Loop::Spin() {
  absl::Time now = clock_->Now();
  const absl::Duration budget = spin_.Budget(now);
  if (budget <= absl::ZeroDuration()) return false;
  ++stats_.spins;
  const absl::Time end = now + budget;
  while (now < end) {
    sched_yield();
    const bool any = WorkOnce();
    const absl::Time after = clock_->Now();
    turns_.Mark(after);
    if (any) {
      ++stats_.spins_found;
      spin_.OnSpun(/*found_work=*/true);
      return true;
    }
    if (spin_.OnYielded(after, after - now)) break;
    now = after;
  }
  spin_.OnSpun(/*found_work=*/false);
  return false;
}

// Order matters: the flag is set before the last read of the rings, so that a client that posts after that read sees
// the flag and rings. The network was idle just before, and arming it reports arrivals since then.
void Loop::Sleep() {
  work_->SetSleeping(true);
  if (work_->ReadPosts()) {
    vain_wakes_ = 0;
  } else if (!stopped_ && work_->ArmNetwork()) {
    const absl::Time begin = clock_->Now();
    const absl::Duration timeout = std::min<absl::Duration>(work_->NextDeadline() - begin, options_.sleep_max);
    ++stats_.sleeps;
    if (vain_wakes_ >= kVainWakesMax) {
      ++stats_.naps;
      absl::SleepFor(kNap);
    }
    if (poller_->Wait(timeout)) {
      ++vain_wakes_;
      spin_.OnSlept(clock_->Now() - begin);
    } else {
      ++stats_.sleeps_timed_out;
      vain_wakes_ = 0;
      spin_.OnSlept(options_.sleep_max);
    }
    looked_ = clock_->Now();
  }
  work_->SetSleeping(false);
}

}  // namespace copse::daemon
