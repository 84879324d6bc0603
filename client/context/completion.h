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

// One lock guards calls, teams, requests and memory. Of the threads that wait, one (the poller) watches the completion
// queue without the lock and takes the events for all; the others sleep on a condition variable, and one of them takes
// over when the poller has what it wanted. Thread-safe, between Start and Stop; functions that take a Lock are called
// with it.
class Completion {
 public:
  // The lock, and all events taken that had come when it was got: a caller of the API sees the present state.
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
  // Gives up the queues, without a lock: also in a forked child.
  void Stop() { queue_.reset(); }

  // Posts, waiting until `patience` for room. Errors: NO_RESOURCE naming what stayed full; NO_DAEMON.
  copse_status_t Post(Lock& lock, const Member& team, const CallPlan& plan, Round* round, Deadline patience);
  // The round's result; COPSE_ERR_TIMED_OUT if it is still in progress at the deadline.
  copse_status_t Wait(Lock& lock, const char* what, const std::string& team, Round* round, Deadline deadline);
  // Posts, waits, and gives up at the deadline.
  copse_status_t Call(const Member& member, const std::string& team, const CallPlan& plan, Deadline deadline);
  copse_status_t Ping(Deadline deadline);
  // The result of a complete round; sets the last error. An operation of the application's own runs now.
  static copse_status_t Result(const char* what, const std::string& team, Round* round);
  void Cancel(Lock& /*lock*/, Round* round) { queue_->Detach(round); }
  // The error of a context that nothing works on any more.
  copse_status_t CheckAlive(const Lock& /*lock*/) const { return CheckAlive(); }

  // For threads that wait for any of many rounds: how often rounds have ended so far, and until they have more often or
  // the deadline. Acquire: pairs with the release of a round's end.
  uint64_t ends() const { return ends_.load(std::memory_order_acquire); }
  void AwaitEnd(uint64_t seen, Deadline deadline);
  // Interrupts a concurrent AwaitEnd(); a thread that has not blocked yet may miss it.
  void InterruptAwaitEnd();

  // The daemon keeps a team as long as calls are in flight, which cancelled ones may be. True if that is so: then it is
  // left when they are not.
  bool LeaveLater(const Lock& lock, uint32_t team);

  // Calls in flight and the memory that they use.
  CallQueue& queue(const Lock& /*lock*/) { return *queue_; }
  // Tells the daemon of regions that no call uses any more.
  void DeregisterDropped(const Lock& /*lock*/) { DeregisterDropped(); }
  // Where the process counts its early returns; the daemon shows them. Needs no lock.
  Port& early_counts() { return queue_->port(); }

 private:
  class Poller;
  class DetachOnExit;

  // Takes events, and looks now and then whether the daemon is alive.
  void Progress();
  copse_status_t PostRound(Lock& lock, const Member* team, const CallPlan& plan, Round* round, Deadline patience);
  copse_status_t FailFull(CallQueue::PostResult result) const;
  copse_status_t CheckAlive() const;
  // Waits for news until `until` or about a slice, whichever is first.
  void AwaitNews(std::unique_lock<std::mutex>& lock, Deadline until);
  void CheckDaemon();
  void Die(copse_status_t status, const std::string& why);
  void DeregisterDropped();
  void LeaveTeams();
  // Adds a bounce region for a call that copies `bytes`, without the lock meanwhile. *added is false if those that
  // there are have to become free first. Errors: NO_RESOURCE: the daemon refuses; NO_MEMORY.
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
    copse_status_t status = COPSE_OK;  // why nothing works any more
    std::string text;
    FailureFacts facts;
  } death_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_COMPLETION_H_
