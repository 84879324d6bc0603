// SPDX-License-Identifier: Apache-2.0
//
// Puts calls into the port's queue with their data, and takes their events.
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

// Buffers that the daemon does not reach are copied through staged memory (placement.h), which belongs to the call
// until its event, also after the call is canceled, since the daemon may write to it until then.
//
// Thread-compatible: its context's lock guards it, except that one thread waits on port() without it.
class CallQueue {
 public:
  // kBounceFull: the call copies staging_wanted() bytes, for which there is no bounce region yet.
  enum class PostResult { kPosted, kQueueFull, kEventsFull, kDataFull, kBounceFull };

  explicit CallQueue(std::unique_ptr<Port> port);

  // Posts `plan` on the team of handle `team`. The round is in progress if kPosted, else nothing has happened.
  PostResult Post(const CallPlan& plan, uint32_t team, Round* round, uint32_t* running);
  // Posts an entry that the daemon only answers.
  PostResult PostNop(Round* round);

  // Ends the rounds whose events have come. Returns how many events there were.
  uint32_t Drain();
  // Returns whether the event queue is corrupt, so that nothing further will complete.
  bool broken() const { return broken_; }

  // Ends the round with COPSE_ERR_CANCELED; its event will be dropped.
  void Detach(Round* round);
  // Ends all rounds: the daemon is gone.
  void EndAll(copse_status_t status, const std::string& text, const FailureFacts& facts);

  // Returns whether calls of the team with this handle, canceled ones too, have no event yet.
  bool InFlight(uint32_t team) const;
  uint32_t in_flight() const { return calls_.in_use(); }
  Port& port() { return *port_; }
  Staging& staging() { return staging_; }
  // The bytes of staging that the latest call without room wanted.
  uint64_t staging_wanted() const { return staging_wanted_; }
  UserMemory& user_memory() { return user_memory_; }
  // Forgets a range that no call in flight uses. Ranges that were freed while one did are dropped with its event.
  void DropRange(UserMemory::UserRange* range);
  // Drops bounce regions that no call uses.
  void DropIdleBounces();
  // Returns the regions of dropped ranges and bounces, to be deregistered; each once.
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
