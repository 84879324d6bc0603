// SPDX-License-Identifier: Apache-2.0
//
// Lists the fragmented calls of one context, from their start until a thread of the program has seen their end.
#ifndef COPSE_CLIENT_TNBC_CALLS_IN_FLIGHT_H_
#define COPSE_CLIENT_TNBC_CALLS_IN_FLIGHT_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "client/copse.h"
#include "client/tnbc/pending_call.h"

namespace copse::tnbc {

// A CallsInFlight advances calls that are in flight, in their order, and keeps those that are over or lost until they
// are taken. Two threads of its owner serve it: the completion thread advances calls whose callers do not
// (AwaitCalls), and the copier thread copies what they send (AwaitCopy, EndCopy). Thread-safe. Its functions block the
// signals of HeldSignals, except those of its two threads, which have blocked all.
class CallsInFlight {
 public:
  using Calls = std::vector<std::shared_ptr<PendingCall>>;

  // `publish` is called after each Advance, with the lock held; it must not allocate, since the completion thread
  // allocates nothing.
  explicit CallsInFlight(std::function<void()> publish);

  // Adds the call, waiting at most `seconds` while there are too many. Returns whether it did.
  bool Add(const std::shared_ptr<PendingCall>& call, double seconds);
  // Posts fragments and writes data that has arrived to the results. Returns whether a fragment found no room in the
  // daemon's queue, so that this has to be called again soon.
  bool Advance();
  // Wait, at most for `seconds`: until the call is not in flight any more; until none is, and whether that is so.
  void AwaitEnd(const PendingCall& call, double seconds);
  bool AwaitNone(double seconds);
  // Take the calls that are over (a thread of the program destroys them, since the completion thread must not wait for
  // that), and those that have failed. The copier thread works on none of them.
  Calls TakeOver() { return Take(&over_); }
  Calls TakeLost() { return Take(&lost_); }
  // Takes the calls that are in flight. Requires that both threads are over.
  Calls TakeRest() { return std::move(under_way_); }

  // Wake the completion thread, since calls are in flight whose callers do not advance them; the copier thread.
  void WakeCompletion() { completion_wanted_.notify_one(); }
  void WakeCopier();

  // --- The completion thread ---
  // Waits until calls are in flight, unless it `lingers`. Returns whether there are; nothing if Stop was called: the
  // thread then ends by EndCompletion.
  std::optional<bool> AwaitCalls(bool lingers);
  void EndCompletion();

  // --- The copier thread ---
  // Waits for a call of which pieces have to be copied. Returns null if Stop was called.
  PendingCall* AwaitCopy();
  // The thread does not work on the call any more.
  void EndCopy();

  // Makes both threads end, and waits for EndCompletion if `has_completion`; `interrupt` makes the completion thread
  // return from the daemon.
  void Stop(bool has_completion, const std::function<void()>& interrupt);

  // Returns a text that names a violated invariant of the calls or of these lists, or null.
  const char* BrokenInvariant();

 private:
  Calls Take(Calls* calls);
  PendingCall* NextToCopy();

  const std::function<void()> publish_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_, completion_wanted_, copies_wanted_, copied_;
  Calls under_way_;
  Calls over_;
  Calls lost_;
  std::vector<const copse_team_t*> blocked_;  // for Advance; kept, since the completion thread allocates nothing
  PendingCall* copying_ = nullptr;            // the call that the copier thread works on; null: none
  bool stopping_ = false, completion_is_over_ = false;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_CALLS_IN_FLIGHT_H_
