// SPDX-License-Identifier: Apache-2.0
//
// The calls of a team's ranks at this node: posted, started in order, and ended.
#ifndef COPSE_DAEMON_CORE_TEAM_CALL_WINDOW_H_
#define COPSE_DAEMON_CORE_TEAM_CALL_WINDOW_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "daemon/core/calls/call_record.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/team/epoch_port.h"
#include "daemon/core/team/epoch_switch.h"
#include "daemon/core/team/leavers.h"
#include "daemon/core/team/long_call.h"
#include "daemon/core/team/team_host.h"
#include "daemon/core/team/team_members.h"
#include "protocol/control.h"

namespace copse::daemon {

// Breaks the team that a call belongs to.
class TeamBreaker {
 public:
  virtual ~TeamBreaker() = default;
  // Calls CallWindow::End, unless that was called before.
  virtual void Break(const schedule::FailureReport& why) = 0;
};

// Parts of the team that the window uses. All outlive it.
struct CallParts {
  CallHost* host = nullptr;
  const TeamMembers* members = nullptr;
  EpochSwitch* epochs = nullptr;
  const Leavers* leavers = nullptr;
  TeamBreaker* breaker = nullptr;
};

// A CallWindow starts each rank's calls in order: a call starts at once, or when its slot is free, the call before it
// has begun, and no epoch switch holds it back. A long call starts chunk by chunk, each with a number of its own. Every
// post gets exactly one event, unless the rank leaves before. A rank is its local index here. Thread-compatible.
//
// Order of calls: Post, Leave, StartPending and OnEvent in any order; End once, after which every post fails.
class CallWindow {
 public:
  explicit CallWindow(const CallParts& parts);

  // `post` was validated. Its event is kNoResource if `pending_max` calls of the rank wait already.
  void Post(uint32_t local, CallPost&& post, uint32_t pending_max);
  // Whether another call of the rank may wait.
  bool HasRoom(uint32_t local, uint32_t pending_max) const { return ranks_[local].pending.size() < pending_max; }
  // Starts the calls that may start, after epochs were committed or aborted, or calls have ended.
  void StartPending();
  // Handles a kRankDone or kNodeDone of `*port`.
  void OnEvent(EpochPort* port, const PortEvent& event);
  // The rank has left: its calls get no more events.
  void Leave(uint32_t local) { ranks_[local].pending.clear(); }
  // The team is broken: ends all calls with `why`, but those that the engine has finished with success.
  void End(const schedule::FailureReport& why);
  // Why the window has ended, if it has.
  const std::optional<schedule::FailureReport>& ended() const { return end_; }

  // --- Running calls ---
  CallSeq next(uint32_t local) const { return ranks_[local].next; }  // the number of its next call, or chunk
  // The rank that has started the most calls.
  uint32_t Foremost() const;
  CallSeq Started() const { return next(Foremost()); }
  // Whether a call waits for the decision of an epoch switch.
  bool IsHeld() const;
  bool HasCallInFlight() const;
  bool HasCallInFlight(uint32_t local) const;
  void AppendStatus(schedule::DaemonStatus* status) const;

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  struct RankCalls {
    CallSeq next{0};
    // Calls that have not started; of the first one, some chunks may have. Not a deque, which has memory even when
    // empty.
    std::list<CallPost> pending;
    std::optional<CallSeq> long_call;  // the first pending call's first chunk, once that has begun
    uint32_t under_way = 0;            // calls that have begun and have no event yet
  };
  // A call of several chunks, and the port where all of them run.
  struct LongRun {
    EpochPort* port = nullptr;
    std::unique_ptr<LongCall> call;
  };

  TeamId id() const { return parts_.members->id(); }
  bool MayStart(uint32_t local, const CallPost& next) const;
  void Start(uint32_t local, const CallPost& post, absl::Time now);
  // Starts the next chunk of the rank's first pending call, which leaves the list with its last chunk.
  void StartChunk(uint32_t local, absl::Time now);
  // The rank joins that call. Returns false if it cannot, after it broke the team.
  bool BeginLong(uint32_t local);
  void EndPendingLong(uint32_t local);
  // A rank has started a new call: breaks the team if a rank that the call needs has left.
  void CheckLeavers();
  void RefuseStart(uint32_t local, const CallRecord& call, const CallPost& post, const absl::Status& why);
  void OnRankDone(EpochPort* port, CallRecord* call, uint32_t local, bool failed);
  void FinishIfDone(EpochPort* port, CallSeq sequence);
  void OnChunkOver(CallSeq first, uint64_t chunk);
  // Notifies the rank if the call is over for it.
  void NotifyLong(LongCall* call, uint32_t local);
  void EndLong(std::map<CallSeq, LongRun>::iterator it);
  // Sends the event to the rank's client, if there is one, and counts the end.
  void Notify(uint32_t local, const CallArguments& arguments, const ClientEvent& event);
  schedule::FailureReport OperationFailed(CallSeq sequence, const CallArguments& arguments) const;

  const CallParts parts_;
  std::vector<RankCalls> ranks_;           // by local index
  std::map<CallSeq, LongRun> long_calls_;  // in flight, by their first chunks
  std::optional<schedule::FailureReport> end_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_CALL_WINDOW_H_
