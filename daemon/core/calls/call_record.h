// SPDX-License-Identifier: Apache-2.0
//
// The record of a team's call at one node, kept while the call runs and for a while after.
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
#include "protocol/control.h"

namespace copse::daemon {

class LongCall;
struct CallPost;

// The arguments that one rank gave for a call.
struct RankArguments {
  Rank rank{0};
  CallArguments arguments;
};

// Returns the failure of call `call`, for which two ranks gave different arguments; the nodes are those of the ranks.
schedule::FailureReport MismatchReport(uint64_t call, const RankArguments& a, std::string_view node_a,
                                       const RankArguments& b, std::string_view node_b);

// A call of a team at this node. Its arguments are those of the first rank here; all other ranks gave the same.
struct CallRecord {
  enum class State : uint8_t { kInFlight, kOver };
  struct Member {
    enum class State : uint8_t { kAway, kPosted, kNotified };
    State state = State::kAway;
    uint64_t value = 0;  // comes back in the rank's event
    absl::Time posted;
  };

  State state = State::kInFlight;
  bool node_done = false;
  bool failed = false;  // for at least one rank here
  CallSeq sequence{0};
  uint32_t chunk = 0;  // index in the long call; 0 where there is none
  uint32_t ranks_posted = 0;
  uint32_t ranks_notified = 0;
  RankArguments first;            // the first rank here
  LongCall* long_call = nullptr;  // the call is a chunk of it; null: of none
  absl::Time started;
  absl::Time probed;                       // time of the last comparison of arguments with the neighbors
  absl::InlinedVector<Member, 1> members;  // by local index; mostly one

  const CallArguments& arguments() const { return first.arguments; }
  // The call's number as the ranks have it: that of its first chunk.
  CallSeq call() const { return CallSeq(sequence.value() - chunk); }
  bool waits_for(uint32_t local) const { return members[local].state == Member::State::kPosted; }
  bool all_posted() const { return ranks_posted == members.size(); }
  bool done() const { return node_done && ranks_notified == members.size(); }

  void Post(uint32_t local, const CallPost& post);
  void Notified(uint32_t local, bool rank_failed);
  // The times of the first and the last post here, in whatever order the ranks joined.
  absl::Time first_posted() const;
  absl::Time last_posted() const;
};

// CallRecords holds the calls of one epoch: those in flight, and each one that has ended until the number two windows
// later takes its place. A neighbor is at most a window behind or ahead, so it asks about no older call. A record is
// allocated at its first use and then reused. Thread-compatible.
//
// Invariants: a record in flight is never replaced, since its number is less than a window behind the newest; Find
// knows the last `2 * window` numbers only.
class CallRecords {
 public:
  // `window`: a power of two.
  CallRecords(uint32_t window, uint32_t local_ranks) : place_mask_(2 * window - 1), local_ranks_(local_ranks) {}

  // Adds a call, which is in flight; Find(sequence) was null.
  CallRecord* Begin(CallSeq sequence, uint32_t chunk, const RankArguments& first, LongCall* long_call, absl::Time now);
  // Null: it has not begun, or is not kept any more.
  CallRecord* Find(CallSeq sequence) const;
  CallRecord* FindInFlight(CallSeq sequence) const;
  std::vector<CallRecord*> InFlight() const;  // by sequence
  bool HasCallInFlight() const { return in_flight_ > 0; }
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
