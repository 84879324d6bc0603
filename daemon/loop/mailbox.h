// SPDX-License-Identifier: Apache-2.0
//
// How other threads reach the loop: a queue with a descriptor that wakes the sleeper.
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

// A Mailbox takes functions from any thread and runs them, in order, on the loop's thread.
// Unbounded: posters bound themselves (one stream, a few administrators).
class Mailbox {
 public:
  static absl::StatusOr<std::unique_ptr<Mailbox>> Create();

  // Any thread.
  void Post(std::function<void()> letter);

  // The loop's thread. Runs what was posted before the call; true if there was any.
  bool Drain();
  // To be watched with EPOLLET: ready anew whenever letters begin to wait. Never read, so it cannot
  // be read too early.
  int event_fd() const { return event_.get(); }

 private:
  explicit Mailbox(UniqueFd event);

  const UniqueFd event_;
  // Whether letters wait: the loop looks at every turn, and a lock costs more than the look.
  std::atomic<bool> any_ = false;
  Mutex mutex_;
  std::deque<std::function<void()>> letters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_MAILBOX_H_
