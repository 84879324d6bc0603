// SPDX-License-Identifier: Apache-2.0

#include "daemon/loop/worker.h"

namespace copse::daemon {

Worker::Worker() : queue_(std::make_shared<Queue>()), thread_([queue = queue_.get()] { queue->Run(); }) {}

Worker::~Worker() {
  {
    MutexLock lock(&queue_->mutex);
    queue_->ends = true;
    queue_->posted.NotifyAll();
  }
  thread_.join();
}

void Worker::Post(std::function<void()> function) { queue_->Post(std::move(function)); }

void Worker::Queue::Post(std::function<void()> function) {
  MutexLock lock(&mutex);
  if (ended) return;
  functions.push_back(std::move(function));
  posted.NotifyAll();
}

void Worker::Queue::Run() {
  while (true) {
    std::function<void()> function;
    {
      MutexLock lock(&mutex);
      while (functions.empty() && !ends) posted.Wait(&mutex);
      ended = functions.empty();
      if (ended) return;
      function = std::move(functions.front());
      functions.pop_front();
    }
    function();
  }
}

}  // namespace copse::daemon
