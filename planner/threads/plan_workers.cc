// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/plan_workers.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace copse::planner {

PlanWorkers::PlanWorkers(TaskQueue* queue, uint32_t threads, int nice) : queue_(queue), nice_(nice) {
  for (uint32_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

PlanWorkers::~PlanWorkers() {
  {
    const MutexLock lock(&mutex_);
    ends_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void PlanWorkers::Run(uint32_t user, std::function<void()> work, std::function<void()> done) {
  const MutexLock lock(&mutex_);
  std::deque<Job>& jobs = jobs_[user];
  if (jobs.empty()) turns_.push_back(user);
  jobs.push_back({std::move(work), std::move(done)});
  changed_.NotifyOne();
}

size_t PlanWorkers::waiting() const {
  const MutexLock lock(&mutex_);
  size_t jobs = 0;
  for (const auto& [user, of_user] : jobs_) jobs += of_user.size();
  return jobs;
}

void PlanWorkers::Work() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice_);  // of this thread alone, on Linux
  while (true) {
    Job job;
    {
      const MutexLock lock(&mutex_);
      while (turns_.empty() && !ends_) changed_.Wait(&mutex_);
      if (ends_) return;
      const uint32_t user = turns_.front();
      turns_.pop_front();
      const auto jobs = jobs_.find(user);
      job = std::move(jobs->second.front());
      jobs->second.pop_front();
      if (jobs->second.empty()) {
        jobs_.erase(jobs);
      } else {
        turns_.push_back(user);
      }
    }
    job.work();
    queue_->Post(std::move(job.done));
  }
}

}  // namespace copse::planner
