// SPDX-License-Identifier: Apache-2.0
//
// Commits the coordinator's changes to a store.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_COMMIT_QUEUE_H_
#define COPSE_PLANNER_COORDINATOR_STATE_COMMIT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/state/commit_outcomes.h"
#include "planner/coordinator/state/timer_queue.h"
#include "planner/coordinator/state/unstored_changes.h"

namespace copse::coordinator {

// CommitEvents is notified by a CommitQueue.
class CommitEvents {
 public:
  virtual ~CommitEvents() = default;
  // A change is withdrawn. Its Done is called later, after OnSettled.
  virtual void OnWithdrawn(uint64_t number, const StoreChange& change) = 0;
  // Changes have been stored or withdrawn, as UnstoredChanges says.
  virtual void OnSettled() = 0;
};

// A CommitQueue commits changes in their order, those together that gather while a commit is in flight. A commit that
// fails is tried again until it succeeds, or until another planner leads: nothing is committed then any more.
// Thread-compatible.
class CommitQueue {
 public:
  using Done = std::function<void(const absl::Status&)>;

  // All must outlive this object. `clock` and `timers` serve the attempts after a failure. `changes` is kept to what
  // is stored and what is not.
  CommitQueue(const Clock* clock, TimerQueue* timers, Store* store, UnstoredChanges* changes, CommitEvents* events);

  // Commits a change. `done`, which may be null, is called once, then or later: with OK when the change is stored, or
  // with RESOURCE_EXHAUSTED when the store has no room; the change is then withdrawn. A change that an earlier attempt
  // may have stored is not withdrawn. A change without `done` is tried again in that case, too. A change with `done`
  // does not wait for the time of the next attempt after a failure.
  void Record(StoreChange change, Done done);

  // Returns how long changes have waited since a commit failed, or zero.
  absl::Duration failing_for() const { return waiting_changes() == 0 ? absl::ZeroDuration() : outcomes_.failing_for(); }
  size_t waiting_changes() const { return in_flight_.size() + pending_.size(); }  // those that are not stored
  const CommitOutcomes& outcomes() const { return outcomes_; }
  // Returns whether another planner leads.
  bool is_deposed() const { return state_ == State::kDeposed; }

 private:
  // kCommitting: a commit is in flight; kWaiting: `again_` is to begin the next attempt after a failure.
  enum class State : uint8_t { kIdle, kCommitting, kWaiting, kDeposed };
  struct Item {
    uint64_t number = 0;
    StoreChange change;
    Done done;
    bool may_be_stored = false;  // a commit of it ended with an unknown outcome
  };

  void StartCommit();
  void OnCommitted(const absl::Status& status);
  void OnStored();
  // Withdraws the changes in flight that have a Done, and calls these.
  void Withdraw(const absl::Status& status);

  const Clock* const clock_;
  TimerQueue* const timers_;
  Store* const store_;
  UnstoredChanges* const changes_;
  CommitEvents* const events_;

  State state_ = State::kIdle;
  std::vector<Item> pending_, in_flight_;
  TimerId again_;
  CommitOutcomes outcomes_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_COMMIT_QUEUE_H_
