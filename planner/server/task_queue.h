// SPDX-License-Identifier: Apache-2.0
//
// How gRPC's threads reach the planner's one thread.
#ifndef COPSE_PLANNER_SERVER_TASK_QUEUE_H_
#define COPSE_PLANNER_SERVER_TASK_QUEUE_H_

#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace copse::planner {

// A turn begins no task later than this, so that timers and the watchdog have their turn, too.
inline constexpr absl::Duration kTurnMax = absl::Milliseconds(20);

// Tasks run in the order in which they were posted. Post from any thread; the rest on the planner's thread. `*clock`
// outlives it.
class TaskQueue {
 public:
  explicit TaskQueue(const Clock* clock) : clock_(clock) {}

  void Post(std::function<void()> task);
  // One turn: runs what was posted, for kTurnMax; waits until `deadline` if there is nothing.
  void RunUntil(absl::Time deadline);
  // When the oldest task that waits was posted: all from before have run. InfiniteFuture: none waits.
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
