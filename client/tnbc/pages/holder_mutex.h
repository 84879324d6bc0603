// SPDX-License-Identifier: Apache-2.0
//
// Defines a mutex that a thread can ask whether it holds it.
#ifndef COPSE_CLIENT_TNBC_PAGES_HOLDER_MUTEX_H_
#define COPSE_CLIENT_TNBC_PAGES_HOLDER_MUTEX_H_

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "client/tnbc/pages/held_signals.h"

namespace copse::tnbc {

// A HolderMutex records its holder, since system calls that libc makes under the lock may come back through hooks
// (UCX's) to the class that holds it. It is a BasicLockable of std.
class HolderMutex {
 public:
  void lock() {
    mutex_.lock();
    holder_.store(pthread_self(), std::memory_order_relaxed);
  }
  void unlock() {
    holder_.store(0, std::memory_order_relaxed);
    mutex_.unlock();
  }
  bool is_held_here() const { return holder_.load(std::memory_order_relaxed) == pthread_self(); }

 private:
  std::mutex mutex_;
  std::atomic<pthread_t> holder_{0};
};

// A HolderLock holds the mutex, and blocks the signals of HeldSignals.
class HolderLock {
 public:
  explicit HolderLock(HolderMutex* mutex) : mutex_(mutex) { Take(); }
  ~HolderLock() { Leave(); }
  HolderLock(const HolderLock&) = delete;
  HolderLock& operator=(const HolderLock&) = delete;

  void Take() { mutex_->lock(); }
  void Leave() { mutex_->unlock(); }

 private:
  const HeldSignals held_;
  HolderMutex* const mutex_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_HOLDER_MUTEX_H_
