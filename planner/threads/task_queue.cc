// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/task_queue.h"

#include <algorithm>
#include <utility>

namespace copse::planner {
namespace {

// Limits one wait, so that a change of the system's clock cannot delay the caller for longer.
constexpr absl::Duration kWaitMax = absl::Seconds(1);

}  // namespace

void TaskQueue::Post(std::function<void()> task) {
  MutexLock lock(&mutex_);
  tasks_.push_back({clock_->Now(), std::move(task)});
  posted_.NotifyAll();
}

void TaskQueue::RunUntil(absl::Time deadline, absl::Duration worked) {
  {
    MutexLock lock(&mutex_);
    const absl::Duration wait = std::min<absl::Duration>(deadline - clock_->Now(), kWaitMax);
    if (tasks_.empty() && wait > absl::ZeroDuration()) posted_.WaitFor(&mutex_, wait);
  }
  absl::Time now = clock_->Now();
  const absl::Time end = now + std::max<absl::Duration>(kTurnMax - worked, kTasksMin);
  do {
    std::function<void()> run;
    {
      MutexLock lock(&mutex_);
      if (tasks_.empty()) return;
      longest_wait_ = std::max(longest_wait_, now - tasks_.front().posted);
      run = std::move(tasks_.front().run);
      tasks_.pop_front();
    }
    run();
    now = clock_->Now();
  } while (now < end);
}

absl::Time TaskQueue::Oldest() const {
  MutexLock lock(&mutex_);
  return tasks_.empty() ? absl::InfiniteFuture() : tasks_.front().posted;
}

size_t TaskQueue::size() const {
  MutexLock lock(&mutex_);
  return tasks_.size();
}

}  // namespace copse::planner
