// SPDX-License-Identifier: Apache-2.0
//
// Records the coordinator's decisions, and holds the messages that tell of them until they are stored.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_OUTBOX_H_
#define COPSE_PLANNER_COORDINATOR_STATE_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "base/clock.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/state/commit_queue.h"
#include "planner/coordinator/state/held_messages.h"
#include "planner/coordinator/state/timer_queue.h"
#include "planner/coordinator/state/unstored_changes.h"
#include "protocol/control.h"

namespace copse::coordinator {

// An Outbox commits changes to a store (CommitQueue), and sends messages (HeldMessages), such that nothing is told that
// a crash could take back. When another planner leads, nothing is sent any more. Thread-compatible.
class Outbox : private CommitEvents {
 public:
  using Done = CommitQueue::Done;

  // All must outlive this object. `clock` and `timers` serve the attempts after a failure.
  Outbox(const Clock* clock, TimerQueue* timers, Store* store, SessionSink* sink);

  // Records a change, as CommitQueue::Record says. If it is withdrawn, so are the messages about its team or node that
  // wait for it.
  void Record(StoreChange change, Done done = nullptr) { commits_.Record(std::move(change), std::move(done)); }

  void Send(SessionId session, const schedule::ToDaemon& message);
  void SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare);
  // Ends a session. Messages that wait on it are dropped.
  void Close(SessionId session, const std::string& why);
  void Drop(SessionId session) { held_.Drop(session); }  // called when a session has ended

  const CommitQueue& commits() const { return commits_; }
  size_t waiting_messages() const { return held_.count(); }

 private:
  void OnWithdrawn(uint64_t number, const StoreChange& change) override { held_.Withdraw(number, change); }
  void OnSettled() override;
  void ReleaseLater();

  const Clock* const clock_;
  TimerQueue* const timers_;
  SessionSink* const sink_;
  UnstoredChanges changes_;
  HeldMessages held_;
  CommitQueue commits_;
  bool releases_later_ = false;  // a timer for it is set
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_OUTBOX_H_
