// SPDX-License-Identifier: Apache-2.0
//
// What a node knows of a team's call, while it runs and for a while after.
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

// What one rank gave for a call.
struct RankArguments {
  Rank rank{0};
  CallArguments arguments;
};

// Two ranks gave different arguments for call `call`; the nodes are those of the ranks.
schedule::FailureReport MismatchReport(uint64_t call, const RankArguments& a, std::string_view node_a,
                                       const RankArguments& b, std::string_view node_b);

// A call of a team at this node. The arguments are those of the rank here that came first; all others have the same.
struct CallRecord {
  enum class State : uint8_t { kInFlight, kOver };
  struct Member {
    enum class State : uint8_t { kAway, kPosted, kTold };
    State state = State::kAway;
    uint64_t value = 0;  // of the rank's event
    absl::Time posted;
  };

  State state = State::kInFlight;
  bool node_done = false;
  bool failed = false;  // for a rank here
  CallSeq sequence{0};
  uint32_t chunk = 0;  // of a long call: how many numbers its first chunk is behind
  uint32_t ranks_posted = 0;
  uint32_t ranks_told = 0;
  RankArguments first;            // the rank here that came first
  LongCall* long_call = nullptr;  // the call is a chunk of it
  absl::Time started;
  absl::Time probed;                       // when its arguments were last compared with the neighbours'
  absl::InlinedVector<Member, 1> members;  // by local index; mostly there is one

  const CallArguments& arguments() const { return first.arguments; }
  // The number by which the ranks know the call: that of its first chunk.
  CallSeq call() const { return CallSeq(sequence.value() - chunk); }
  bool waits_for(uint32_t local) const { return members[local].state == Member::State::kPosted; }
  bool all_posted() const { return ranks_posted == members.size(); }
  bool done() const { return node_done && ranks_told == members.size(); }

  void Post(uint32_t local, const CallPost& post);
  void Told(uint32_t local, bool rank_failed);
  // When the first and the last rank here posted it, whatever the order in which they joined.
  absl::Time first_posted() const;
  absl::Time last_posted() const;
};

// The calls of one epoch: those in flight, and what has ended until the number that is two windows later needs its
// place. A neighbour is at most a window behind or ahead, and asks about no other. Records are made when they are first
// needed and then reused. Thread-compatible.
//
// Invariants: a record in flight is never replaced, since its number is less than a window behind the newest; only the
// last `2 * window` numbers are found.
class CallRecords {
 public:
  // `window`: a power of two.
  CallRecords(uint32_t window, uint32_t local_ranks) : place_mask_(2 * window - 1), local_ranks_(local_ranks) {}

  // A new call, in flight; Find(sequence) was null.
  CallRecord* Begin(CallSeq sequence, uint32_t chunk, const RankArguments& first, LongCall* long_call, absl::Time now);
  // Null: never begun, or forgotten.
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
  std::vector<std::unique_ptr<CallRecord>> records_;  // by sequence modulo 2 * window; grows to that
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_CALL_RECORD_H_
