// SPDX-License-Identifier: Apache-2.0
//
// Posts calls and waits for them, for all threads of a context.
#ifndef COPSE_CLIENT_CONTEXT_COMPLETION_H_
#define COPSE_CLIENT_CONTEXT_COMPLETION_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/failure.h"
#include "client/context/attachment.h"
#include "client/copse.h"
#include "client/port/arguments.h"
#include "client/port/call_queue.h"
#include "client/port/call_table.h"
#include "client/port/deadline.h"

namespace copse::client {

// One lock guards calls, teams, requests and memory. One of the waiting threads, the poller, watches the completion
// queue without the lock and takes the events for all; the others block on a condition variable, and one of them
// becomes the poller when that has what it waited for. Thread-safe, between Start and Stop; functions that take a Lock
// are called with it.
class Completion {
 public:
  // Takes the lock, and all events that have come by then, so that a caller of the API sees the present state.
  class Lock {
   public:
    explicit Lock(Completion* completion) : lock_(completion->mutex_) { completion->Progress(); }

   private:
    friend class Completion;
    std::unique_lock<std::mutex> lock_;
  };

  // A call's team; its numbers are guarded by the lock.
  struct Member {
    uint32_t handle;    // in queue entries
    uint32_t* running;  // rounds in progress
  };

  explicit Completion(Attachment* attachment) : attachment_(*attachment) {}
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  void Start(std::unique_ptr<Port> port);
  // Ends all rounds as canceled. Returns the teams that have not been left yet.
  std::vector<uint32_t> EndAll();
  // Drops the queues, without a lock, also in a forked child.
  void Stop() { queue_.reset(); }

  // Posts, waiting until `patience` for room. Errors: NO_RESOURCE naming what stayed full; NO_DAEMON.
  copse_status_t Post(Lock& lock, const Member& team, const CallPlan& plan, Round* round, Deadline patience);
  // Returns the round's result; COPSE_ERR_TIMED_OUT if it is still in progress at the deadline.
  copse_status_t Wait(Lock& lock, const char* what, const std::string& team, Round* round, Deadline deadline);
  // Posts and waits, until the deadline.
  copse_status_t Call(const Member& member, const std::string& team, const CallPlan& plan, Deadline deadline);
  copse_status_t Ping(Deadline deadline);
  // Returns the result of a complete round, and sets the last error. An operation of the application runs now.
  static copse_status_t Result(const char* what, const std::string& team, Round* round);
  void Cancel(Lock& /*lock*/, Round* round) { queue_->Detach(round); }
  // Returns the error of a context whose daemon is gone or corrupt, else COPSE_OK.
  copse_status_t CheckAlive(const Lock& /*lock*/) const { return CheckAlive(); }

  // For threads that wait for any of many rounds: ends() counts the times that rounds have ended, and AwaitEnd blocks
  // until there are more than `seen`, or the deadline. Acquire: pairs with the release of a round's end.
  uint64_t ends() const { return ends_.load(std::memory_order_acquire); }
  void AwaitEnd(uint64_t seen, Deadline deadline);
  // Interrupts a concurrent AwaitEnd(); a thread that has not blocked yet may miss it.
  void InterruptAwaitEnd();

  // The daemon keeps a team as long as calls are in flight, canceled ones too. Returns whether there are any; the team
  // is then left when they have ended.
  bool LeaveLater(const Lock& lock, uint32_t team);

  // Calls in flight and the memory that they use.
  CallQueue& queue(const Lock& /*lock*/) { return *queue_; }
  // Deregisters regions that no call uses any more.
  void DeregisterDropped(const Lock& /*lock*/) { DeregisterDropped(); }
  // The port, where the process counts its asynchronous completions for the daemon. Needs no lock.
  Port& early_counts() { return queue_->port(); }

 private:
  // Takes events, and checks now and then whether the daemon is alive.
  void Progress();
  copse_status_t PostRound(Lock& lock, const Member* team, const CallPlan& plan, Round* round, Deadline patience);
  copse_status_t FailFull(CallQueue::PostResult result) const;
  copse_status_t CheckAlive() const;
  // Waits for events until `until` or for about a slice, whichever is shorter.
  void AwaitNews(std::unique_lock<std::mutex>& lock, Deadline until);
  void CheckDaemon();
  void Die(copse_status_t status, const std::string& why);
  void DeregisterDropped();
  void LeaveTeams();
  // Adds a bounce region for a call that copies `bytes`, without the lock meanwhile. *added is false if present regions
  // have to become free first. Errors: NO_RESOURCE if the daemon refuses; NO_MEMORY.
  copse_status_t AddBounce(Lock& lock, uint64_t bytes, bool* added);

  Attachment& attachment_;
  std::atomic<uint64_t> ends_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable news_;
  bool polling_ = false;
  std::unique_ptr<CallQueue> queue_;
  std::vector<uint32_t> leaving_;  // teams, by handle
  Deadline next_check_{};
  struct Death {
    copse_status_t status = COPSE_OK;  // COPSE_OK: the context is alive
    std::string text;
    FailureFacts facts;
  } death_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_COMPLETION_H_
