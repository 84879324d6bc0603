// SPDX-License-Identifier: Apache-2.0
//
// Runs functions that other threads post on the loop's thread, and wakes the loop for them.
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
#include "base/unique_fd.h"

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
  // Returns a descriptor to be watched with EPOLLET: an event comes whenever a letter is posted to an empty queue. The
  // descriptor is never read, so no event can be consumed too early.
  int event_fd() const { return event_.get(); }
  // Counts the events of the descriptor, of which each has woken the loop.
  void CountWake() { ++wakes_; }
  uint64_t wakes() const { return wakes_; }

 private:
  explicit Mailbox(UniqueFd event);

  const UniqueFd event_;
  uint64_t wakes_ = 0;
  // It is true while letters wait. The loop reads it in every iteration, since a lock would cost more. Post's store
  // pairs with Drain's load (both seq_cst); the eventfd wakes the loop if the load came before the store.
  std::atomic<bool> any_ = false;
  Mutex mutex_;
  std::deque<std::function<void()>> letters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_LOOP_MAILBOX_H_
