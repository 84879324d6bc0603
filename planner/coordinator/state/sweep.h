// SPDX-License-Identifier: Apache-2.0
//
// Runs a function from time to time while there is something for it to do.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_SWEEP_H_
#define COPSE_PLANNER_COORDINATOR_STATE_SWEEP_H_

#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "base/clock.h"
#include "planner/coordinator/state/timer_queue.h"

namespace copse::coordinator {

// A Sweep runs its function a period after Later was called first; calls in between change nothing. Thread-compatible.
class Sweep {
 public:
  // Both must outlive this object.
  Sweep(const Clock* clock, TimerQueue* timers, absl::Duration period)
      : clock_(clock), timers_(timers), period_(period) {}
  void SetFunction(std::function<void()> function) { function_ = std::move(function); }

  void Later() {
    if (std::exchange(is_set_, true)) return;
    timers_->Set(clock_->Now() + period_, [this] {
      is_set_ = false;
      function_();
    });
  }

 private:
  const Clock* const clock_;
  TimerQueue* const timers_;
  const absl::Duration period_;
  std::function<void()> function_;
  bool is_set_ = false;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_SWEEP_H_
