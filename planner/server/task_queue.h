// SPDX-License-Identifier: Apache-2.0
//
// The queue by which gRPC's threads reach the planner's one thread.
#ifndef COPSE_PLANNER_SERVER_TASK_QUEUE_H_
#define COPSE_PLANNER_SERVER_TASK_QUEUE_H_

#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace copse::planner {

// A turn begins no task later than this, so that timers and the watchdog run, too.
inline constexpr absl::Duration kTurnMax = absl::Milliseconds(20);

// TaskQueue runs tasks in the order in which they were posted. Post may be called from any thread; the rest from the
// planner's thread. `*clock` must outlive it.
class TaskQueue {
 public:
  explicit TaskQueue(const Clock* clock) : clock_(clock) {}

  void Post(std::function<void()> task);
  // Runs one turn: the posted tasks, for kTurnMax; waits until `deadline` if there are none.
  void RunUntil(absl::Time deadline);
  // Returns when the oldest pending task was posted: all earlier ones have run. InfiniteFuture: none is pending.
  absl::Time Oldest() const;
  size_t size() const;

 private:
  struct Task {
    absl::Time posted;
    std::function<void()> run;
  };

  const Clock* const clock_;
  mutable Mutex mutex_;
  CondVar posted_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_TASK_QUEUE_H_
