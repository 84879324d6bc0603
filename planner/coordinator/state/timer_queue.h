// SPDX-License-Identifier: Apache-2.0
//
// Defines a queue of functions that run at a given time.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_TIMER_QUEUE_H_
#define COPSE_PLANNER_COORDINATOR_STATE_TIMER_QUEUE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/time/time.h"

namespace copse::coordinator {

// TimerId identifies a timer; the default one identifies none.
struct TimerId {
  absl::Time time = absl::InfiniteFuture();
  uint64_t number = 0;
  friend bool operator<(const TimerId& a, const TimerId& b) {
    return a.time != b.time ? a.time < b.time : a.number < b.number;
  }
};

// A TimerQueue runs functions in the order of their times, and of insertion for equal times. Thread-compatible.
class TimerQueue {
 public:
  TimerId Set(absl::Time time, std::function<void()> function) {
    const TimerId id{time, ++numbers_};
    timers_.emplace(id, std::move(function));
    return id;
  }
  // Does nothing if the timer has run, was canceled, or is the default one.
  void Cancel(const TimerId& id) { timers_.erase(id); }
  // Runs the timers that are due; their functions may set and cancel timers.
  void Run(absl::Time now) {
    while (!timers_.empty() && timers_.begin()->first.time <= now) {
      const std::function<void()> function = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      function();
    }
  }
  // Returns the time of the next timer, or InfiniteFuture if there is none.
  absl::Time Next() const { return timers_.empty() ? absl::InfiniteFuture() : timers_.begin()->first.time; }

 private:
  std::map<TimerId, std::function<void()>> timers_;
  uint64_t numbers_ = 0;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_TIMER_QUEUE_H_
