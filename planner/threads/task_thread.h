// SPDX-License-Identifier: Apache-2.0
//
// Defines a thread for work that would keep the planner's thread too long, such as system calls of gRPC.
#ifndef COPSE_PLANNER_THREADS_TASK_THREAD_H_
#define COPSE_PLANNER_THREADS_TASK_THREAD_H_

#include <functional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "planner/threads/task_queue.h"

namespace copse::planner {

// A TaskThread runs tasks on a thread of its own, in the order in which they were posted. Any thread may call Post.
class TaskThread {
 public:
  TaskThread() : thread_([this] { Work(); }) {}
  // Runs the tasks that were posted before.
  ~TaskThread() {
    Post([this] { ends_ = true; });
    thread_.join();
  }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  void Post(std::function<void()> task) { tasks_.Post(std::move(task)); }

 private:
  void Work() {
    while (!ends_) tasks_.RunUntil(absl::InfiniteFuture());
  }

  const MonotonicClock clock_;
  TaskQueue tasks_{&clock_};
  bool ends_ = false;   // accessed by the thread only
  std::thread thread_;  // the last member, since it uses the others
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_THREADS_TASK_THREAD_H_
