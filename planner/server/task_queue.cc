// SPDX-License-Identifier: Apache-2.0
#include "planner/server/task_queue.h"

#include <algorithm>
#include <utility>

namespace copse::planner {
namespace {

// No wait is longer: a clock that was set does no harm.
constexpr absl::Duration kWaitMax = absl::Seconds(1);

}  // namespace

void TaskQueue::Post(std::function<void()> task) {
  MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
  posted_.NotifyAll();
}

void TaskQueue::RunUntil(const Clock& clock, absl::Time deadline) {
  std::deque<std::function<void()>> tasks;
  {
    MutexLock lock(&mutex_);
    if (tasks_.empty()) {
      const absl::Duration wait = std::min<absl::Duration>(deadline - clock.Now(), kWaitMax);
      if (wait > absl::ZeroDuration()) posted_.WaitFor(&mutex_, wait);
    }
    tasks.swap(tasks_);
  }
  for (auto& task : tasks) task();
}

}  // namespace copse::planner
