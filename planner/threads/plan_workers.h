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
#include "absl/time/time.h"
#include "base/cpu_time.h"
#include "base/mutex.h"
#include "planner/threads/task_queue.h"

namespace copse::planner {

// PlanWorkers make plans on threads of their own, at a lower priority than the planner's thread, which answers
// heartbeats meanwhile. Next is the oldest job of the user with the least processor time so far, so that a user with
// many or with long jobs delays another user's by one. A user without jobs saves no time up for later. The planner's
// thread calls all functions; `*queue` must outlive the object.
class PlanWorkers {
 public:
  // `cpu_time` returns the processor time of the thread that calls it.
  PlanWorkers(TaskQueue* queue, uint32_t threads, int nice = 10,
              std::function<absl::Duration()> cpu_time = ThreadCpuTime);
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
  struct User {
    std::deque<Job> jobs;
    uint32_t running = 0;  // number of jobs that workers have begun
    absl::Duration used;
    uint64_t turn = 0;  // when it was chosen last: of users that have used the same, the one that has waited longest
  };
  void Work();
  // Chooses a user, moves its next job out, and returns the user. Requires that a job waits.
  uint32_t TakeJob(Job* job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JobOver(uint32_t user, absl::Duration took) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  TaskQueue* const queue_;
  const int nice_;
  const std::function<absl::Duration()> cpu_time_;
  mutable Mutex mutex_;
  CondVar changed_;
  // Has the users with jobs, and those that have used more than `least_used_`.
  std::map<uint32_t, User> users_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration least_used_ ABSL_GUARDED_BY(mutex_);  // what the user that was chosen last had used
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_THREADS_PLAN_WORKERS_H_
