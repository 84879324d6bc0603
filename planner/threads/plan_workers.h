// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_PLANNER_THREADS_PLAN_WORKERS_H_
#define COPSE_PLANNER_THREADS_PLAN_WORKERS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "planner/threads/task_queue.h"

namespace copse::planner {

// PlanWorkers make plans on threads of their own, at a lower priority than the planner's thread, which answers
// heartbeats meanwhile. Users take turns, each with the oldest of its jobs. The planner's thread calls all functions;
// `*queue` must outlive the object.
class PlanWorkers {
 public:
  PlanWorkers(TaskQueue* queue, uint32_t threads, int nice = 10);
  // Waits for the jobs that are running; the others are dropped, and their `done` is not called.
  ~PlanWorkers();

  // Runs `work` on a worker, and then `done` on the planner's thread.
  void Run(uint32_t user, std::function<void()> work, std::function<void()> done);
  // Returns the number of jobs that no worker has begun.
  size_t waiting() const;

 private:
  struct Job {
    std::function<void()> work, done;
  };
  void Work();

  TaskQueue* const queue_;
  const int nice_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<uint32_t, std::deque<Job>> jobs_ ABSL_GUARDED_BY(mutex_);  // by user; no user's are empty
  std::deque<uint32_t> turns_ ABSL_GUARDED_BY(mutex_);                // the users of jobs_
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_THREADS_PLAN_WORKERS_H_
