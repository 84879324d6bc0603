// SPDX-License-Identifier: Apache-2.0
//
// Defines locks for the few places with several threads: the log, base/process/lost_memory.cc, the threads of gRPC, and
// the queues by which these post events to the single-threaded core.
//
// absl::Mutex is not used: Debian's Abseil is built without sanitizers, so TSAN cannot see it lock and reports false
// races. These are pthread locks, which it sees, with the annotations that clang's -Wthread-safety checks.

#ifndef COPSE_BASE_MUTEX_H_
#define COPSE_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace copse {

// Mutex is a non-recursive lock. Guard data with ABSL_GUARDED_BY(mutex_).
class ABSL_LOCKABLE Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// A MutexLock holds `*mutex` from its construction to the end of its scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

// Waits of a CondVar may end spuriously, so call them in a loop that checks the guarded data. `*mutex` is held before
// and after each.
class CondVar {
 public:
  void Wait(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // Returns false if `timeout` passed. It is measured by the steady clock, and limited to a day.
  bool WaitFor(Mutex* mutex, absl::Duration timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (timeout > absl::Hours(24)) timeout = absl::Hours(24);
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_for(lock, absl::ToChronoNanoseconds(timeout));
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace copse

#endif  // COPSE_BASE_MUTEX_H_
