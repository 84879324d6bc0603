// SPDX-License-Identifier: Apache-2.0
//
// Blocking collectives that return before their data is there (Li et al., T-NBC: transparent non-blocking collectives).
#ifndef COPSE_CLIENT_TNBC_ASYNCHRONOUS_COMPLETION_H_
#define COPSE_CLIENT_TNBC_ASYNCHRONOUS_COMPLETION_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client/copse.h"
#include "client/tnbc/call_means.h"
#include "client/tnbc/call_state.h"
#include "client/tnbc/caller.h"
#include "client/tnbc/fragmentation.h"
#include "client/tnbc/pages/copy_memory.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/pages/remapped_memory.h"
#include "client/tnbc/pending_call.h"
#include "client/tnbc/send_snapshot.h"
#include "client/tnbc/trace/call_recorder.h"

namespace copse::tnbc {

// Returns whether COPSE_TNBC_STATS wants every process to print the cost of its asynchronous calls.
bool WantsStatistics();

// Asynchronous completion of blocking calls on one context. A call is fragmented; its ends are waited for, so that
// whole pages are left; these become inaccessible, and the call returns. The completion thread waits for the daemon,
// writes the data to its place and makes it accessible; a thread that accesses it before waits in PageGuard. The
// contribution is copied by then, or becomes read-only, and the copier thread copies it.
//
// Thread-safe; calls of one team are made one after another, as ever.
class AsynchronousCompletion {
 public:
  // `copy_bytes_max`: the limit of copies of buffers under way, and, up to half of it, of remapped memory. `remaps`:
  // memory in which results are received again and again is remapped; then the owner calls remapped()->Release where
  // that is due. The constructor throws std::system_error if there is no thread.
  struct Options {
    uint64_t copy_bytes_max = 0;
    SendSnapshot::Way way = SendSnapshot::Way::kInPieces;
    bool remaps = false;
    PageGuard::OnWait on_wait = nullptr;  // for threads that wait outside of handlers
  };
  AsynchronousCompletion(copse_context_t* context, PageGuard* guard, const Options& options);
  // Gives up what is under way.
  ~AsynchronousCompletion();
  AsynchronousCompletion(const AsynchronousCompletion&) = delete;
  AsynchronousCompletion& operator=(const AsynchronousCompletion&) = delete;

  struct Work {
    copse_team_t* team;  // for the edges
    // For the rest: a team of the same members without other calls, since fragments are posted as former ones end,
    // whatever the program does meanwhile.
    copse_team_t* stream;
    const copse_coll_args_t& args;  // with the buffers, of which nothing is pending (AwaitBuffers)
    const Fragmentation& fragmentation;
    bool may_return = false;  // asynchronously
    // A thread that waits for the data gives MPI no turns, which other ranks may need before they begin the call: so
    // the call does not return before all have begun. Requires a fragmentation that announces that.
    bool waits_idly = false;
    // MPI may access data of the program's beside a result, on its last page, while that is closed.
    bool has_messages = false;
    RecordedCall* record = nullptr;  // of accesses to the result; null: none
  };
  // Makes a call that is fragmented. If it may, and this rank's memory allows it, returns once the rest can go on
  // alone; `caller` outlives that, and is notified if it fails. Else returns like a blocking call. *returned_early says
  // which.
  copse_status_t Call(const Work& work, const std::shared_ptr<Caller>& caller, bool* returned_early);

  // Waits until nothing of the buffers of rank `rank` of `size` is pending but lost memory; *is_there says whether none
  // is lost. Returns false, without waiting, if the arguments are invalid.
  bool AwaitBuffers(const copse_coll_args_t& args, uint32_t rank, uint32_t size, PageGuard::OnWait on_wait,
                    bool* is_there);

  // Returns whether results in this memory need no copy.
  bool Reaches(const void* memory, uint64_t bytes);

  // Notifies callers of calls that are over; Call does it, too.
  void Reap();

  // Waits, so long at most, until all data is there or lost. Returns whether it is.
  bool Drain(double seconds);
  // Gives up failed calls: their memory becomes accessible, with undefined contents. Returns whether there was any.
  bool ForgetLost();

  PageGuard& guard() { return *guard_; }
  // Never destroyed, since hooks may be in it. Null: no memory is remapped.
  RemappedMemory* remapped() { return remapped_; }
  const EarlyCounters& counters() const { return counters_; }
  // Returns what contradicts the invariants of the calls under way and of their lists, or null. For tests.
  const char* CheckInvariants();
  // Returns the counters and the process's faults as one line for people.
  std::string Describe() const;
  void CountTrips(uint64_t trips) { counters_.breaker_trips.fetch_add(trips, std::memory_order_relaxed); }

 private:
  using Calls = std::vector<std::shared_ptr<PendingCall>>;

  void Stop();
  // Returns false if the caller has no more time.
  bool Enlist(const std::shared_ptr<PendingCall>& call, Caller* caller);
  copse_status_t AwaitEnd(PendingCall* call, Caller* caller);
  void RunCompletionThread();
  // Publishes the counters to the daemon. Called with the lock, so that no older ones come last; allocates nothing.
  void Publish();
  void RunCopier();
  PendingCall* NextToCopy();
  // Waits until the copier works on none of them.
  void AwaitCopier(std::unique_lock<std::mutex>& lock, const Calls& calls);
  // Posts fragments, puts data that has come in its place, and takes calls that are over off the list. Returns whether
  // a call found no room, and has to be tried again soon.
  bool Advance();

  copse_context_t* const context_;
  PageGuard* const guard_;
  const SendSnapshot::Way way_;
  CopyMemory memory_;
  RemappedMemory* const remapped_;
  EarlyCounters counters_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  // There are calls under way that only the completion thread advances, as their callers do not.
  std::condition_variable completion_wanted_;
  Calls under_way_;
  Calls over_;  // destroyed by a thread of the program, since the completion thread must not wait for that
  Calls lost_;
  std::vector<const copse_team_t*> blocked_;  // in Advance; kept, since the completion thread allocates nothing
  std::atomic<bool> lingers_{false};          // the last call returned early
  PendingCall* copying_ = nullptr;            // by the copier
  std::condition_variable copies_wanted_, copied_;
  bool stopping_ = false, completion_is_over_ = false;
  std::thread completion_thread_, copier_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_ASYNCHRONOUS_COMPLETION_H_
