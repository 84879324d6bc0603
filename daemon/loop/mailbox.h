// SPDX-License-Identifier: Apache-2.0
//
// Runs functions of other threads on the loop: a queue with a descriptor that wakes the sleeping loop.
#ifndef COPSE_DAEMON_LOOP_MAILBOX_H_
#define COPSE_DAEMON_LOOP_MAILBOX_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "daemon/loop/unique_fd.h"

namespace copse::daemon {

// A Mailbox takes functions from any thread and runs them, in order, on the loop's thread. Unbounded: each poster
// limits itself (one stream, a few administrators).
class Mailbox {
 public:
  static absl::StatusOr<std::unique_ptr<Mailbox>> Create();

  // Queues a function. Thread-safe.
  void Post(std::function<void()> letter);

  // Runs the functions posted before the call; returns true if there were any. Only the loop's thread calls it.
  bool Drain();
  // Watch it with EPOLLET: it becomes ready whenever letters begin to wait. It is never read, so it cannot be read
  // too early.
  int event_fd() const { return event_.get(); }

 private:
  explicit Mailbox(UniqueFd event);

  const UniqueFd event_;
  // Whether letters wait: the loop reads it at every turn, and a lock costs more than the read. Post's store pairs with
  // Drain's load (both seq_cst); the eventfd wakes the loop if the load came too early.
  std::atomic<bool> any_ = false;
  Mutex mutex_;
  std::deque<std::function<void()>> letters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_MAILBOX_H_
