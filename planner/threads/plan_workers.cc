// SPDX-License-Identifier: Apache-2.0
#include "planner/threads/plan_workers.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace copse::planner {

PlanWorkers::PlanWorkers(TaskQueue* queue, uint32_t threads, int nice, std::function<absl::Duration()> cpu_time)
    : queue_(queue), nice_(nice), cpu_time_(std::move(cpu_time)) {
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
  User& of_user = users_[user];
  if (of_user.jobs.empty() && of_user.running == 0) of_user.used = std::max(of_user.used, least_used_);
  of_user.jobs.push_back({std::move(work), std::move(done)});
  ++waiting_;
  changed_.NotifyOne();
}

size_t PlanWorkers::waiting() const {
  const MutexLock lock(&mutex_);
  return waiting_;
}

uint32_t PlanWorkers::TakeJob(Job* job) {
  auto next = users_.end();
  for (auto it = users_.begin(); it != users_.end(); ++it) {
    const User& user = it->second;
    if (user.jobs.empty()) continue;
    if (next == users_.end() || std::pair(user.used, user.turn) < std::pair(next->second.used, next->second.turn)) {
      next = it;
    }
  }
  User& user = next->second;
  least_used_ = std::max(least_used_, user.used);
  user.turn = ++turns_;
  ++user.running;
  *job = std::move(user.jobs.front());
  user.jobs.pop_front();
  --waiting_;
  return next->first;
}

void PlanWorkers::JobOver(uint32_t user, absl::Duration took) {
  User& of_user = users_.at(user);
  --of_user.running;
  of_user.used += took;
  std::erase_if(users_, [least_used = least_used_](const auto& each) {
    return each.second.jobs.empty() && each.second.running == 0 && each.second.used <= least_used;
  });
}

void PlanWorkers::Work() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice_);  // of this thread alone, on Linux
  while (true) {
    Job job;
    uint32_t user = 0;
    {
      const MutexLock lock(&mutex_);
      while (waiting_ == 0 && !ends_) changed_.Wait(&mutex_);
      if (ends_) return;
      user = TakeJob(&job);
    }
    const absl::Duration before = cpu_time_();
    job.work();
    const absl::Duration took = cpu_time_() - before;
    {
      const MutexLock lock(&mutex_);
      JobOver(user, took);
    }
    queue_->Post(std::move(job.done));
  }
}

}  // namespace copse::planner
