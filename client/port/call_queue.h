// SPDX-License-Identifier: Apache-2.0
//
// Posts calls to the port's submission queue with their data, and handles their completion events.
#ifndef COPSE_CLIENT_PORT_CALL_QUEUE_H_
#define COPSE_CLIENT_PORT_CALL_QUEUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/port/arguments.h"
#include "client/port/call_table.h"
#include "client/port/port.h"
#include "client/port/staging.h"
#include "client/port/user_memory.h"

namespace copse::client {

// A CallQueue holds the calls of a context that are in flight. Buffers that the daemon cannot access are copied through
// staging buffers (placement.h). A call keeps its staging buffer until its event, also if it is canceled, since the
// daemon may write to it until then.
//
// Thread-compatible: the context's lock guards it, except that one thread waits on port() without the lock.
class CallQueue {
 public:
  // kQueueFull: the submission queue is full. kEventsFull: there are as many calls in flight as the completion queue
  // has entries. kDataFull: no staging buffer is free. kBounceFull: likewise, and only a bounce region can hold the
  // staging_wanted() bytes.
  enum class PostResult { kPosted, kQueueFull, kEventsFull, kDataFull, kBounceFull };

  explicit CallQueue(std::unique_ptr<Port> port);

  // Posts `plan` on the team of handle `team`. If kPosted, the round is in progress, `*running` is incremented until
  // it ends, and both must stay valid until then; else nothing has changed.
  PostResult Post(const CallPlan& plan, uint32_t team, Round* round, uint32_t* running);
  // Posts an entry that the daemon only acknowledges by an event. Never returns kDataFull or kBounceFull.
  PostResult PostNop(Round* round);

  // Ends the rounds whose events have come, after copying their results. Returns the number of events.
  uint32_t Drain();
  // Returns whether the completion queue is corrupt, so that no event will be handled any more.
  bool broken() const { return broken_; }

  // Ends a round in progress with COPSE_ERR_CANCELED. Its event will only release the call's memory.
  void Detach(Round* round);
  // Ends all rounds with `status` and releases their calls, without their events. It may be called only if the daemon
  // is gone or the context ends.
  void EndAll(copse_status_t status, const std::string& text, const FailureFacts& facts);

  // Returns whether calls of the team with this handle, canceled ones too, have no event yet.
  bool InFlight(uint32_t team) const;
  uint32_t in_flight() const { return calls_.in_use(); }
  Port& port() { return *port_; }
  Staging& staging() { return staging_; }
  // Returns the bytes of the staging buffer that the latest call without room needed.
  uint64_t staging_wanted() const { return staging_wanted_; }
  UserMemory& user_memory() { return user_memory_; }
  // Drops a range that no call in flight uses. A range that is freed while calls use it is dropped with the last one's
  // event.
  void DropRange(UserMemory::UserRange* range);
  // Drops bounce regions that no call uses.
  void DropIdleBounces();
  // Returns the regions that were dropped since the last call, which the caller deregisters.
  std::vector<uint32_t> TakeDroppedRegions();

 private:
  void Finish(CallInFlight* call, copse_status_t status, std::string_view text, const FailureFacts& facts);
  void Release(CallInFlight* call);

  const std::unique_ptr<Port> port_;
  Staging staging_;
  UserMemory user_memory_;
  CallTable calls_;
  std::vector<uint32_t> dropped_regions_;
  uint64_t staging_wanted_ = 0;
  bool broken_ = false;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_PORT_CALL_QUEUE_H_
