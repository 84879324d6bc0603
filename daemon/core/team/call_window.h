// SPDX-License-Identifier: Apache-2.0
//
// Keeps the calls of a team's ranks at this node from their posts to their ends, and starts them in order.
#ifndef COPSE_DAEMON_CORE_TEAM_CALL_WINDOW_H_
#define COPSE_DAEMON_CORE_TEAM_CALL_WINDOW_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
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

// A TeamBreaker breaks the team that a call belongs to.
class TeamBreaker {
 public:
  virtual ~TeamBreaker() = default;
  // Breaks the team, and calls CallWindow::End before it returns; does nothing if the team is broken.
  virtual void Break(const schedule::FailureReport& why) = 0;
};

// CallParts are the parts of the team that a CallWindow uses. All must outlive it.
struct CallParts {
  CallHost* host = nullptr;
  const TeamMembers* members = nullptr;
  EpochSwitch* epochs = nullptr;
  const Leavers* leavers = nullptr;
  TeamBreaker* breaker = nullptr;
};

// A CallWindow starts each rank's calls in order: a call starts as soon as the rank's calls before it have started, its
// slot is free, its CallPost::under_way_max allows it, and no epoch switch holds it back. A long call starts chunk by
// chunk, each with a number of its own. Every post gets exactly one event, unless the rank leaves before. Ranks are
// named by local index. Thread-compatible.
//
// Order of calls: Post, Leave, StartPending and OnEvent in any order; End once, after which every post fails.
class CallWindow {
 public:
  explicit CallWindow(const CallParts& parts);

  // `post` was validated. Its event is kNoResource if `pending_max` calls of the rank wait to start already.
  void Post(uint32_t local, CallPost&& post, uint32_t pending_max);
  // Returns whether Post would not refuse another call of the rank for lack of room.
  bool HasRoom(uint32_t local, uint32_t pending_max) const { return ranks_[local].pending.size() < pending_max; }
  // Starts the calls that may start, after epochs were committed or aborted, or calls have ended.
  void StartPending();
  // Handles a kRankDone or kNodeDone of `*port`.
  void OnEvent(EpochPort* port, const PortEvent& event);
  // Drops the calls of a rank that leaves, which wait to start. Its calls in flight get no events either, since its
  // client was removed from the members.
  void Leave(uint32_t local) { ranks_[local].pending.clear(); }
  // The team is broken: ends all calls with `why`, except those that the engine has finished with success.
  void End(const schedule::FailureReport& why);
  // Returns why the window has ended; nothing: it has not.
  const std::optional<schedule::FailureReport>& ended() const { return end_; }

  // --- Running calls ---
  // Returns the number of the rank's next call or chunk.
  CallSeq next(uint32_t local) const { return ranks_[local].next; }
  // Returns the rank that has started the most calls and chunks.
  uint32_t Foremost() const;
  // Returns the number of calls and chunks that any rank here has started.
  CallSeq Started() const { return next(Foremost()); }
  // Returns whether a call waits for the decision of an epoch switch.
  bool IsHeld() const;
  // Return whether a call is in flight or waits to start: any rank's, or that of one rank.
  bool HasCallInFlight() const;
  bool HasCallInFlight(uint32_t local) const;
  void AppendStatus(schedule::DaemonStatus* status) const;
  // Appends the calls by each plan of the epochs that run.
  void AppendPlanCalls(std::vector<schedule::PlanCalls>* counts) const;

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  struct RankCalls {
    CallSeq next{0};
    // These calls wait to start; of the first one, some chunks may have started. They are in a list, since an empty
    // deque allocates memory.
    std::list<CallPost> pending;
    std::optional<CallSeq> long_call;  // number of the first pending call, if that is a long one and has begun
    uint32_t under_way = 0;            // number of calls that have begun and have no event yet
  };
  // A LongRun is a long call in flight, and the port on which all its chunks run.
  struct LongRun {
    EpochPort* port = nullptr;
    absl::Time started;  // by the first rank here
    std::unique_ptr<LongCall> call;
  };

  TeamId id() const { return parts_.members->id(); }
  bool MayStart(uint32_t local, const CallPost& next) const;
  void Start(uint32_t local, const CallPost& post, absl::Time now);
  // Starts the next chunk of the rank's first pending call, which leaves the list with its last chunk.
  void StartChunk(uint32_t local, absl::Time now);
  // The rank joins its first pending call, which is a long one. Returns false after it broke the team, if there is no
  // plan, or the rank's arguments differ or have no counts.
  bool BeginLong(uint32_t local);
  void EndPendingLong(uint32_t local);
  // Breaks the team if a call that was started here needs a rank that has left.
  void CheckLeavers();
  void RefuseStart(uint32_t local, const CallRecord& call, const CallPost& post, const absl::Status& why);
  void OnRankDone(EpochPort* port, CallRecord* call, uint32_t local, bool failed);
  void FinishIfDone(EpochPort* port, CallSeq sequence);
  void OnChunkOver(CallSeq first, uint64_t chunk);
  // Sends the rank's event if all its chunks are done and the nodes agree on the call.
  void NotifyLong(LongCall* call, uint32_t local);
  void EndLong(std::map<CallSeq, LongRun>::iterator it);
  // Sends the event to the rank's client, unless the rank has left, and counts the result.
  void Notify(uint32_t local, const CallArguments& arguments, const ClientEvent& event);
  // Returns the status of a call in which the local ranks of `joined` take part.
  schedule::CallStatus StatusOf(CallSeq sequence, const CallArguments& arguments, absl::Time started,
                                absl::FunctionRef<bool(uint32_t)> joined) const;
  schedule::FailureReport OperationFailed(CallSeq sequence, const CallArguments& arguments) const;

  const CallParts parts_;
  std::vector<RankCalls> ranks_;           // by local index
  std::map<CallSeq, LongRun> long_calls_;  // in flight, by number of the first chunk
  std::optional<schedule::FailureReport> end_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_CALL_WINDOW_H_
