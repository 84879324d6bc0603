// SPDX-License-Identifier: Apache-2.0
//
// Records the calls of a team at one node, while they run and for a while after.
#ifndef COPSE_DAEMON_CORE_CALLS_CALL_RECORD_H_
#define COPSE_DAEMON_CORE_CALLS_CALL_RECORD_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/rank_arguments.h"

namespace copse::daemon {

class LongCall;
struct CallPost;

// A CallRecord is one call of a team at this node, or one chunk of a long call. Its arguments are those of the first
// rank here to join; other ranks join only with equal ones.
struct CallRecord {
  enum class State : uint8_t { kInFlight, kOver };
  struct Member {
    enum class State : uint8_t { kAway, kPosted, kNotified };
    State state = State::kAway;
    uint64_t value = 0;  // CallPost::value, returned in the rank's event
    absl::Time posted;
  };

  State state = State::kInFlight;
  bool node_done = false;
  bool failed = false;  // for at least one rank here
  CallSeq sequence{0};
  uint32_t chunk = 0;  // index within the long call; 0 if there is none
  uint32_t ranks_posted = 0;
  uint32_t ranks_notified = 0;
  RankArguments first;            // first rank here to join, and its arguments
  LongCall* long_call = nullptr;  // call of which this is a chunk; null: none
  absl::Time started;
  absl::Time probed;                       // time of the last SendArguments to the neighbors; at first, the start
  absl::InlinedVector<Member, 1> members;  // by local index; mostly one

  const CallArguments& arguments() const { return first.arguments; }
  // Returns the number that the ranks know for the call: that of its first chunk.
  CallSeq call() const { return CallSeq(sequence.value() - chunk); }
  bool waits_for(uint32_t local) const { return members[local].state == Member::State::kPosted; }
  bool all_posted() const { return ranks_posted == members.size(); }
  bool done() const { return node_done && ranks_notified == members.size(); }

  // The rank joins the call; each rank may join once.
  void Post(uint32_t local, const CallPost& post);
  // The rank, which has joined, receives its event.
  void Notified(uint32_t local, bool rank_failed);
  // Return the times of the first and the last post here, in whatever order the ranks joined. Require all_posted().
  absl::Time first_posted() const;
  absl::Time last_posted() const;
};

// CallRecords holds the calls of one epoch: those in flight, and each one that has ended until the call two windows
// later takes its place. A neighbor is at most a window behind or ahead, so its messages concern no older call. A
// record is allocated at its first use and then reused. Thread-compatible.
//
// Invariants: a record in flight is never replaced, since its number is less than a window behind the newest; Find
// knows the last `2 * window` numbers only.
class CallRecords {
 public:
  // `window` is a power of two.
  CallRecords(uint32_t window, uint32_t local_ranks) : place_mask_(2 * window - 1), local_ranks_(local_ranks) {}

  // Adds a call in flight, which no rank has joined. Requires that Find(sequence) is null.
  CallRecord* Begin(CallSeq sequence, uint32_t chunk, const RankArguments& first, LongCall* long_call, absl::Time now);
  // Returns null if the call has not begun here, or is not kept any more.
  CallRecord* Find(CallSeq sequence) const;
  // Returns null also if the call has ended.
  CallRecord* FindInFlight(CallSeq sequence) const;
  // Returns the calls in flight, ascending by number.
  std::vector<CallRecord*> InFlight() const;
  bool HasCallInFlight() const { return in_flight_ > 0; }
  // Ends a call in flight that is done(). Find still returns it.
  void End(CallRecord* record);

  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  uint32_t place_mask_;  // 2 * window - 1
  uint32_t local_ranks_;
  uint32_t in_flight_ = 0;
  std::vector<std::unique_ptr<CallRecord>> records_;  // by sequence modulo 2 * window; grows up to that size
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_CALL_RECORD_H_
