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

// Tasks run in the order in which they were posted. Post from any thread; the rest on the planner's thread.
class TaskQueue {
 public:
  void Post(std::function<void()> task);
  // Runs what was posted; waits for it until `deadline` by `clock` if there is nothing.
  void RunUntil(const Clock& clock, absl::Time deadline);

 private:
  Mutex mutex_;
  CondVar posted_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_TASK_QUEUE_H_
