// SPDX-License-Identifier: Apache-2.0
//
// Runs functions that take too long for the daemon's loop, on a thread of its own.
#ifndef COPSE_DAEMON_LOOP_WORKER_H_
#define COPSE_DAEMON_LOOP_WORKER_H_

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace copse::daemon {

// A Worker runs functions from any thread, in the order in which they were posted. Unbounded: each poster limits
// itself.
class Worker {
 public:
  Worker();
  // Runs what was posted before, and ends the thread.
  ~Worker();

  // Queues a function. Thread-safe; the functions may call it, too.
  void Post(std::function<void()> function);

  // Returns a pointer to the same object. When the last copy of it is gone, the worker drops `object`, or the caller
  // does if the worker is gone: destroying an object of many parts takes long, too.
  template <typename T>
  std::shared_ptr<const T> DisposeOf(std::shared_ptr<const T> object) {
    const T* const pointer = object.get();
    return std::shared_ptr<const T>(pointer, [queue = queue_, object = std::move(object)](const T*) mutable {
      queue->Post([object = std::move(object)] {});
    });
  }

 private:
  // The objects to be disposed of share it, since they may outlive the worker.
  struct Queue {
    // Drops the function if the worker has ended.
    void Post(std::function<void()> function);
    void Run();

    Mutex mutex;
    CondVar posted;
    std::deque<std::function<void()>> functions ABSL_GUARDED_BY(mutex);
    bool ends ABSL_GUARDED_BY(mutex) = false;
    bool ended ABSL_GUARDED_BY(mutex) = false;
  };

  const std::shared_ptr<Queue> queue_;
  std::thread thread_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_WORKER_H_
