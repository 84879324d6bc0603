// SPDX-License-Identifier: Apache-2.0
//
// Defines the queue by which gRPC's threads pass tasks to the planner's one thread.
#ifndef COPSE_PLANNER_THREADS_TASK_QUEUE_H_
#define COPSE_PLANNER_THREADS_TASK_QUEUE_H_

#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace copse::planner {

// RunUntil begins no further task once the turn has taken kTurnMax, so that timers and the watchdog run, too; but tasks
// have kTasksMin in each turn.
inline constexpr absl::Duration kTurnMax = absl::Milliseconds(10);
inline constexpr absl::Duration kTasksMin = absl::Milliseconds(2);

// A TaskQueue runs tasks in the order in which they were posted. Any thread may call Post; only the planner's thread
// calls the other functions. `*clock` must outlive this object.
class TaskQueue {
 public:
  explicit TaskQueue(const Clock* clock) : clock_(clock) {}

  void Post(std::function<void()> task);
  // Runs posted tasks until there are none, or the turn, which has done other work for `worked`, ends. If there are
  // none at first, waits for one until `deadline`, but at most a second, and may then return without having run any.
  void RunUntil(absl::Time deadline, absl::Duration worked = absl::ZeroDuration());
  // Returns the time at which the oldest pending task was posted; all tasks posted before have run. InfiniteFuture: no
  // task is pending.
  absl::Time Oldest() const;
  size_t size() const;
  // Returns the longest time that any task has waited until it began.
  absl::Duration longest_wait() const { return longest_wait_; }

 private:
  struct Task {
    absl::Time posted;
    std::function<void()> run;
  };

  const Clock* const clock_;
  mutable Mutex mutex_;
  CondVar posted_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  absl::Duration longest_wait_;  // accessed by the planner's thread only
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_THREADS_TASK_QUEUE_H_
