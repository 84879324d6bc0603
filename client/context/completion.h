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

// A Completion posts the calls of a context and waits for them. Its lock guards calls, teams, requests and memory. One
// of the waiting threads, the poller, waits on the completion queue without the lock; the others block on a condition
// variable. When the poller's wait ends it wakes them, and the next thread to wait becomes the poller. Each thread that
// takes the lock or ends a wait handles the new events of all. Thread-safe between Start and Stop; functions with a
// Lock parameter are called with the lock held.
class Completion {
 public:
  // A Lock holds the lock. Its constructor handles all events that have come, so that a caller of the API sees the
  // current state.
  class Lock {
   public:
    explicit Lock(Completion* completion) : lock_(completion->mutex_) { completion->Progress(); }

   private:
    friend class Completion;
    std::unique_lock<std::mutex> lock_;
  };

  // A Member is the team of a call. *running is guarded by the lock.
  struct Member {
    uint32_t handle;    // in queue entries
    uint32_t* running;  // rounds in progress
  };

  explicit Completion(Attachment* attachment) : attachment_(*attachment) {}
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  void Start(std::unique_ptr<Port> port);
  // Ends all rounds as canceled. Returns the teams of LeaveLater that have not been left yet.
  std::vector<uint32_t> EndAll();
  // Destroys the queues and unmaps the port. Takes no lock, since it is also called in a forked child.
  void Stop() { queue_.reset(); }

  // Posts a round. If there is no room, waits for it until `patience`, without the lock, or up to 10 s longer if more
  // memory for copies has to be registered. Errors: NO_RESOURCE, which names what is full (at once if the data area has
  // no room and no call in flight can free any), or says why the daemon refuses to register memory; NO_DAEMON or
  // INTERNAL if the context is dead; NO_MEMORY, NO_DAEMON and TIMED_OUT of RegisterRegion.
  copse_status_t Post(Lock& lock, const Member& team, const CallPlan& plan, Round* round, Deadline patience);
  // Blocks without the lock until the round is complete, and returns its result; COPSE_ERR_TIMED_OUT if it is still in
  // progress at the deadline.
  copse_status_t Wait(Lock& lock, const char* what, const std::string& team, Round* round, Deadline deadline);
  // Makes a blocking call: posts it and waits for it until the deadline, at which it is canceled. Errors are those of
  // Post and Wait. Ping does so with an entry that the daemon only acknowledges.
  copse_status_t Call(const Member& member, const std::string& team, const CallPlan& plan, Deadline deadline);
  copse_status_t Ping(Deadline deadline);
  // Returns the result of a complete round. If the round has failed, sets the last error. If it has succeeded, runs its
  // reduction by a user-defined operation, if it has one, once per round.
  static copse_status_t Result(const char* what, const std::string& team, Round* round);
  // Ends a round in progress with COPSE_ERR_CANCELED.
  void Cancel(Lock& /*lock*/, Round* round) { queue_->Detach(round); }
  // Returns COPSE_OK, or the error of a dead context, which also becomes the last error: NO_DAEMON if the daemon is
  // gone, INTERNAL if the completion queue is corrupt.
  copse_status_t CheckAlive(const Lock& /*lock*/) const { return CheckAlive(); }

  // These are for threads that wait for any of many rounds. ends() changes after events, which may have ended rounds,
  // when the context dies, and in InterruptAwaitEnd, but not when Cancel or EndAll ends rounds. AwaitEnd blocks until
  // it differs from `seen`, the context is dead, or the deadline has passed. Acquire: pairs with the release at each
  // change, so a thread that reads the new value also reads the ended rounds' states.
  uint64_t ends() const { return ends_.load(std::memory_order_acquire); }
  void AwaitEnd(uint64_t seen, Deadline deadline);
  // Changes ends() and wakes the threads blocked in AwaitEnd(). A poller that is about to block may miss the wake-up,
  // and then returns after at most kCheckInterval.
  void InterruptAwaitEnd();

  // Returns whether calls of the team, canceled ones included, are in flight; the team is then left when they have
  // ended, since the daemon needs it until then.
  bool LeaveLater(const Lock& lock, uint32_t team);

  // Returns the calls in flight and the memory that they use.
  CallQueue& queue(const Lock& /*lock*/) { return *queue_; }
  // Asks the daemon to deregister the regions of queue() that were dropped since the last call: freed memory and idle
  // bounce regions. Does not wait for an answer.
  void DeregisterDropped(const Lock& /*lock*/) { DeregisterDropped(); }
  // Returns the port, for the counters of asynchronous completions that the daemon reports. Needs no lock.
  Port& early_counts() { return queue_->port(); }

 private:
  // Handles new events, and checks every kCheckInterval whether the daemon is alive. Requires the lock, as all private
  // functions do.
  void Progress();
  copse_status_t PostRound(Lock& lock, const Member* team, const CallPlan& plan, Round* round, Deadline patience);
  copse_status_t FailFull(CallQueue::PostResult result) const;
  copse_status_t CheckAlive() const;
  // Blocks without the lock until there may be new events, but not beyond `until` or kCheckInterval.
  void AwaitNews(std::unique_lock<std::mutex>& lock, Deadline until);
  void CheckDaemon();
  void Die(copse_status_t status, const std::string& why);
  void DeregisterDropped();
  void LeaveTeams();
  // Adds a bounce region for a call that copies `bytes` bytes; releases the lock while it waits for the daemon. Sets
  // *added to false, and succeeds, if the limit is reached until other calls end. Errors: NO_RESOURCE if the daemon
  // refuses; NO_MEMORY; NO_DAEMON; TIMED_OUT.
  copse_status_t AddBounce(Lock& lock, uint64_t bytes, bool* added);

  Attachment& attachment_;
  std::atomic<uint64_t> ends_{0};
  std::mutex mutex_;  // guards all members below
  std::condition_variable news_;
  bool polling_ = false;  // there is a poller
  std::unique_ptr<CallQueue> queue_;
  std::vector<uint32_t> leaving_;  // handles of teams that are left when their calls have ended
  Deadline next_check_{};
  struct Death {
    copse_status_t status = COPSE_OK;  // COPSE_OK: the context is alive
    std::string text;
    FailureFacts facts;
  } death_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_CONTEXT_COMPLETION_H_
