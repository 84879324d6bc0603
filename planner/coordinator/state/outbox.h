// SPDX-License-Identifier: Apache-2.0
//
// Records the coordinator's decisions, and holds the messages that tell of them until they are stored.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_OUTBOX_H_
#define COPSE_PLANNER_COORDINATOR_STATE_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/state/timer_queue.h"
#include "protocol/control.h"

namespace copse::coordinator {

// An Outbox commits changes to a store, those together that gather while a commit is in flight, and sends messages: a
// message about a team waits for all changes of that team that were recorded before it, Registered and Drain for those
// of the cluster (term, UUID, draining, aborted teams), and each of them for those that wait before it on its session.
// So nothing is told that a crash could take back. Other messages (queries, refused joins) wait for Registered only. A
// commit that fails is tried again until it succeeds.
// Thread-compatible.
class Outbox {
 public:
  using Done = std::function<void(const absl::Status&)>;
  // About so many of the messages that one change has held are sent in one turn.
  static constexpr size_t kReleasedAtOnce = 1000;

  // All must outlive this object. `clock` and `timers` serve the attempts after a failure.
  Outbox(const Clock* clock, TimerQueue* timers, Store* store, SessionSink* sink);

  // Records a change. `done`, which may be null, is called once, then or later: with OK when the change is stored, or
  // with RESOURCE_EXHAUSTED when the store has no room; the change is then withdrawn, and so are the messages about its
  // team or node that wait for it. A change that an earlier attempt may have stored is not withdrawn. A change without
  // `done` is tried again in that case, too. A change with `done` does not wait for the time of the next attempt after
  // a failure.
  void Record(StoreChange change, Done done = nullptr);

  void Send(SessionId session, const schedule::ToDaemon& message);
  void SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare);
  // Ends a session. Messages that wait on it are dropped.
  void Close(SessionId session, const std::string& why);
  void Drop(SessionId session);  // called when a session has ended

  // Returns OK, or why the last commit failed; for how long changes have waited since a commit failed, or zero; and the
  // number of changes that are not stored.
  const absl::Status& error() const { return error_; }
  absl::Duration failing_for() const;
  size_t waiting_changes() const { return in_flight_.size() + pending_.size(); }
  size_t waiting_messages() const;
  const Histogram& commits_ns() const { return commits_ns_; }  // the times of commits that succeeded
  uint64_t failed_commits() const { return failed_commits_; }
  // Returns whether another planner leads. Nothing is sent any more.
  bool is_deposed() const { return is_deposed_; }

 private:
  struct Item {
    uint64_t number = 0;
    StoreChange change;
    Done done;
    bool may_be_stored = false;  // a commit of it ended with an unknown outcome
  };
  // A Held is a message that waits, or this session's part of a Prepare that several share.
  struct Held {
    uint64_t after = 0;  // the change that it waits for
    TeamId team{0};
    schedule::ToDaemon message;
    std::shared_ptr<const schedule::Prepare> shared;  // null: `message` is sent
    PrepareMember member;
  };

  void StartCommit();
  void OnCommitted(const absl::Status& status);
  void NoteFailure(const absl::Status& status);
  // Withdraws the changes in flight that have a Done, and calls these.
  void Withdraw(const absl::Status& status);
  bool MustWait(SessionId session, uint64_t after) const;
  bool AwaitsRegistered(SessionId session) const;
  uint64_t ChangeBefore(const schedule::ToDaemon& message) const;
  uint64_t LastOf(TeamId team) const;
  void Release();
  void ReleaseLater();

  const Clock* const clock_;
  TimerQueue* const timers_;
  Store* const store_;
  SessionSink* const sink_;

  std::vector<Item> pending_, in_flight_;
  bool commits_ = false;  // a commit is in flight
  bool waits_ = false;    // `again_` is to begin the next attempt after a failure
  TimerId again_;
  uint64_t last_ = 0;    // the last change recorded
  uint64_t stored_ = 0;  // changes up to this one are stored or withdrawn
  uint64_t of_cluster_ = 0;
  std::map<TeamId, uint64_t> of_teams_;  // the last change of each team that has one which is not stored
  std::map<SessionId, std::list<Held>> held_;
  bool releases_later_ = false;  // a timer for it is set
  absl::Status error_;
  absl::Time fails_since_ = absl::InfiniteFuture();
  absl::Time complained_ = absl::InfinitePast();
  bool is_deposed_ = false;
  absl::Time began_;  // of the commit in flight
  Histogram commits_ns_;
  uint64_t failed_commits_ = 0;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_OUTBOX_H_
