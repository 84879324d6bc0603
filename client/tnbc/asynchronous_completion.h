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

// COPSE_TNBC_STATS: whether every process is to print what its early returns cost.
bool WantsStatistics();

// Early returns on one context. A call is fragmented; its ends are waited for, so that pages alone are left; these
// become inaccessible, and the call returns. A thread of its own waits for the daemon, writes what has come to where it
// belongs and makes it accessible; who accesses it before waits in PageGuard. What is sent is copied by then, or
// becomes read-only, and another thread copies it.
//
// Thread-safe; calls of one team are made one after another, as ever.
class AsynchronousCompletion {
 public:
  // `copy_bytes_max`: of copies of buffers under way, and, up to half of it, of memory that is remapped. Throws
  // std::system_error if there is no thread. `adopts`: memory that results come to again and again; then somebody calls
  // remapped()->Release where that is due.
  struct Options {
    uint64_t copy_bytes_max = 0;
    SendSnapshot::Way way = SendSnapshot::Way::kInPieces;
    bool remaps = false;
    PageGuard::OnWait on_wait = nullptr;  // of who waits outside of handlers
  };
  AsynchronousCompletion(copse_context_t* context, PageGuard* guard, const Options& options);
  // Gives up what is under way.
  ~AsynchronousCompletion();
  AsynchronousCompletion(const AsynchronousCompletion&) = delete;
  AsynchronousCompletion& operator=(const AsynchronousCompletion&) = delete;

  struct Work {
    copse_team_t* team;  // for the edges
    // For the rest: of the same members, and without other calls, since they are posted as former ones end, whatever
    // the program does meanwhile.
    copse_team_t* stream;
    const copse_coll_args_t& args;  // with the buffers, of which nothing is pending (AwaitBuffers)
    const Fragmentation& fragmentation;
    bool may_return = false;  // early
    // A thread that waits for the data gives MPI no turns, which others may need before they begin the call: so the
    // call does not return before all have. Only of a fragmentation that announces that.
    bool waits_idly = false;
    // MPI may access data of the program's beside a result, on its last page, while that is closed.
    bool has_messages = false;
    RecordedCall* record = nullptr;  // who accesses it; null: nobody wants to know
  };
  // Makes a call that is fragmented. If it may, and this rank's memory allows it, returns once the rest can go on
  // alone; `caller` outlives that, and is told if it fails. Else as a blocking call. *returned_early says which.
  copse_status_t Call(const Work& work, const std::shared_ptr<Caller>& caller, bool* returned_early);

  // Until nothing of the buffers of rank `rank` of `size` is pending but what is lost; *is_there says whether nothing
  // is. False, having waited for nothing, if the arguments make no sense.
  bool AwaitBuffers(const copse_coll_args_t& args, uint32_t rank, uint32_t size, PageGuard::OnWait on_wait,
                    bool* is_there);

  // Whether what is received there has not to be copied.
  bool Reaches(const void* memory, uint64_t bytes);

  // Tells callers of calls that are over; Call does it, too.
  void Reap();

  // Waits so long until everything is there or has failed. Returns whether it is.
  bool Drain(double seconds);
  // What has failed is given up: its memory becomes accessible, with undefined contents. Returns whether there
  // was any.
  bool ForgetLost();

  PageGuard& guard() { return *guard_; }
  // Never destroyed, since hooks may be in it. Null: nothing is.
  RemappedMemory* remapped() { return remapped_; }
  const EarlyCounters& counters() const { return counters_; }
  // Says what contradicts the invariants of the calls under way and of their lists; null: nothing does. For tests.
  const char* CheckInvariants();
  // These and the process's faults, for people: one line.
  std::string Describe() const;
  void CountTrips(uint64_t trips) { counters_.breaker_trips.fetch_add(trips, std::memory_order_relaxed); }

 private:
  using Calls = std::vector<std::shared_ptr<PendingCall>>;

  void Stop();
  // False if the caller has no more time.
  bool Enlist(const std::shared_ptr<PendingCall>& call, Caller* caller);
  copse_status_t AwaitEnd(PendingCall* call, Caller* caller);
  void RunCompletionThread();
  // Lets the daemon have the counters. With the lock, so that no older ones come last; allocates nothing.
  void Publish();
  void RunCopier();
  PendingCall* NextToCopy();
  // Until the copier has nothing to do with them any more.
  void AwaitCopier(std::unique_lock<std::mutex>& lock, const Calls& calls);
  // Posts what may be, brings what has come to its place, and moves calls that are over out of the way. Returns whether
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
  // There are calls under way that nobody but the completion thread moves on: not while their callers do.
  std::condition_variable completion_wanted_;
  Calls under_way_;
  Calls over_;  // what they have is given back by a thread of the program's, since the completion thread must not wait
                // for it
  Calls lost_;
  std::vector<const copse_team_t*> blocked_;  // of Advance; kept, since the completion thread allocates nothing
  std::atomic<bool> lingers_{false};          // the last call returned early
  PendingCall* copying_ = nullptr;            // by the copier
  std::condition_variable copies_wanted_, copied_;
  bool stopping_ = false, completion_is_over_ = false;
  std::thread completion_thread_, copier_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_ASYNCHRONOUS_COMPLETION_H_
