// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous completion lets blocking collectives return before their data has arrived (Li et al., T-NBC: transparent
// non-blocking collectives).
#ifndef COPSE_CLIENT_TNBC_ASYNCHRONOUS_COMPLETION_H_
#define COPSE_CLIENT_TNBC_ASYNCHRONOUS_COMPLETION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "client/copse.h"
#include "client/tnbc/call_means.h"
#include "client/tnbc/caller.h"
#include "client/tnbc/calls_in_flight.h"
#include "client/tnbc/fragmentation.h"
#include "client/tnbc/pages/copy_memory.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/remapped_memory.h"
#include "client/tnbc/pending_call.h"
#include "client/tnbc/send_snapshot.h"
#include "client/tnbc/trace/call_recorder.h"

namespace copse::tnbc {

// Returns whether COPSE_TNBC_STATS is set, other than to 0 or nothing: then every process prints the cost of its
// asynchronous calls.
bool WantsStatistics();

// An AsynchronousCompletion completes blocking calls on one context asynchronously. A call is fragmented. Its edges
// (the two ends of the result) are received before it returns, so that the rest consists of whole pages, or after it if
// they fill pages, too. These pages become inaccessible, and the call returns. The completion thread waits for the
// daemon, writes the data to the result and makes its pages accessible; a thread that accesses them earlier waits in
// PageGuard. The contribution has been copied when the call returns, or it is read-only until the copier thread has
// copied it or the daemon has read it.
//
// Thread-safe; a team's calls are made one after another, in the same order on all ranks.
class AsynchronousCompletion {
 public:
  // `copy_bytes_max` limits the memory for copies of buffers and for remapping together; remapping gets at most half of
  // it. `remaps`: memory that calls use repeatedly is remapped, and the owner calls remapped()->Release where
  // RemappedMemory requires it.
  struct Options {
    uint64_t copy_bytes_max = 0;
    SendSnapshot::Way way = SendSnapshot::Way::kInPieces;
    bool remaps = false;
    PageGuard::OnWait on_wait = nullptr;  // called by threads that wait outside of handlers, to make MPI progress
  };
  // Throws std::system_error if a thread cannot be started. `*guard` must never be destroyed; `*context` must outlive
  // this object.
  AsynchronousCompletion(copse_context_t* context, PageGuard* guard, const Options& options);
  // Abandons all calls that are in flight or have failed: their pages become accessible, with undefined contents.
  ~AsynchronousCompletion();
  AsynchronousCompletion(const AsynchronousCompletion&) = delete;
  AsynchronousCompletion& operator=(const AsynchronousCompletion&) = delete;

  struct Work {
    copse_team_t* team;  // makes the calls of the edges
    // Makes the calls of the fragments: a team of the same members without other calls, since fragments are posted as
    // earlier ones complete, whatever the program posts to `team` meanwhile.
    copse_team_t* stream;
    const copse_coll_args_t& args;  // the program's call; none of its buffers is pending (AwaitBuffers)
    const Fragmentation& fragmentation;
    bool may_return = false;  // before its data has arrived
    // Threads of the program may wait for the data without making MPI progress, which other ranks may need before they
    // begin the call. So the call does not return before all ranks have begun it. With `may_return`, requires
    // fragmentation.announces.
    bool waits_idly = false;
    // MPI may have messages in flight whose buffers lie after the result on its last page, so this page stays
    // accessible unless the result fills it.
    bool has_messages = false;
    RecordedCall* record = nullptr;  // gets the accesses to the result; null: they are not recorded
  };
  // Makes a fragmented call. If `may_return` is set and this rank's memory allows it, sets *returned_early and returns
  // COPSE_OK while fragments are in flight; then `caller` is kept until they have ended, and is notified
  // (Caller::OnEnd, OnLate). Otherwise clears *returned_early and returns the result of the whole call. Errors: those
  // of the calls on the teams; COPSE_ERR_TIMED_OUT if the caller's time is over.
  copse_status_t Call(const Work& work, const std::shared_ptr<Caller>& caller, bool* returned_early);

  // Waits until nothing but lost memory is pending in the buffers of rank `rank` of `size`; *is_there says whether none
  // is lost. `on_wait` must not be null; it is called meanwhile, to make MPI progress. Returns false, without waiting,
  // if the arguments are invalid or the message is too long.
  bool AwaitBuffers(const copse_coll_args_t& args, uint32_t rank, uint32_t size, PageGuard::OnWait on_wait,
                    bool* is_there);

  // Returns whether the memory is all pages of one copse_alloc, so that results in it need no copy.
  bool Reaches(const void* memory, uint64_t bytes);

  // Notifies the callers of calls that returned early and are complete (Caller::OnEnd). Call begins with it.
  void Reap();

  // Waits, at most for `seconds`, until no call is in flight, so that all data has arrived or is lost. Returns whether
  // that is so.
  bool Drain(double seconds);
  // Abandons failed calls: their memory becomes accessible, with undefined contents. Returns whether there were any.
  bool ForgetLost();

  PageGuard& guard() { return *means_.guard; }
  // Returns null if no memory is remapped. The object is never destroyed, since hooks may be running in it.
  RemappedMemory* remapped() { return means_.remapped; }
  const EarlyCounters& counters() const { return counters_; }
  // Returns a text that names a violated invariant of the calls or of their lists, or null. It is for tests.
  const char* CheckInvariants() { return calls_.BrokenInvariant(); }
  // Returns this object's counters and the process's page faults as one line of text.
  std::string Describe() const;
  void CountTrips(uint64_t trips) { counters_.breaker_trips.fetch_add(trips, std::memory_order_relaxed); }

 private:
  void Stop();
  // Adds the call to those in flight, waiting while there are too many. Returns false if the caller's time is over.
  bool Enlist(const std::shared_ptr<PendingCall>& call, Caller* caller);
  copse_status_t AwaitEnd(PendingCall* call, Caller* caller);
  void RunCompletionThread();
  void RunCopier();
  // Publishes the counters to the daemon. Calls of it must not overlap, so that older values never replace newer ones.
  // Allocates nothing, since the completion thread calls it.
  void Publish();

  CopyMemory memory_;
  EarlyCounters counters_;
  const CallMeans means_;
  CallsInFlight calls_;               // calls Publish
  std::atomic<bool> lingers_{false};  // the latest call returned early
  std::thread completion_thread_, copier_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_ASYNCHRONOUS_COMPLETION_H_
