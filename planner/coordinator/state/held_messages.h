// SPDX-License-Identifier: Apache-2.0
//
// Holds the messages that tell of decisions which are not stored.
#ifndef COPSE_PLANNER_COORDINATOR_STATE_HELD_MESSAGES_H_
#define COPSE_PLANNER_COORDINATOR_STATE_HELD_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>

#include "absl/types/span.h"
#include "base/ids.h"
#include "planner/coordinator/interfaces/session_sink.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/coordinator/state/unstored_changes.h"
#include "protocol/control.h"

namespace copse::coordinator {

// HeldMessages sends messages to sessions: a message about a team waits for all changes of that team that were recorded
// before it, Registered and Drain for those of the cluster, and each of them for those that wait before it on its
// session. Other messages (queries, refused joins) wait for Registered only. Thread-compatible.
class HeldMessages {
 public:
  // About so many of the messages that one change has held are sent in one turn.
  static constexpr size_t kReleasedAtOnce = 1000;

  // Both must outlive this object.
  HeldMessages(const UnstoredChanges* changes, SessionSink* sink) : changes_(changes), sink_(sink) {}

  void Send(SessionId session, const schedule::ToDaemon& message);
  // Members of a Prepare are sent it together, as soon as nothing before it waits. Returns what Release does.
  bool SendPrepare(absl::Span<const PrepareMember> members, schedule::Prepare prepare);
  // Sends what need not wait any more. Returns whether it has sent so much that the rest is for another turn.
  bool Release();
  // Drops the messages about the change's team or node that wait for it.
  void Withdraw(uint64_t number, const StoreChange& change);
  // Drops the session's messages.
  void Drop(SessionId session) { held_.erase(session); }
  size_t count() const;

 private:
  // A Held is a message that waits, or this session's part of a Prepare that several share.
  struct Held {
    uint64_t after = 0;  // the change that it waits for
    TeamId team{0};
    schedule::ToDaemon message;
    std::shared_ptr<const schedule::Prepare> shared;  // null: `message` is sent
    PrepareMember member;
  };

  bool MustWait(SessionId session, uint64_t after) const;
  bool AwaitsRegistered(SessionId session) const;

  const UnstoredChanges* const changes_;
  SessionSink* const sink_;
  std::map<SessionId, std::list<Held>> held_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_STATE_HELD_MESSAGES_H_
