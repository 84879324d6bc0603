// SPDX-License-Identifier: Apache-2.0
//
// Makes blocking calls of the program that complete asynchronously: they return before their data has arrived.
#ifndef COPSE_CLIENT_MPI_ASYNC_ASYNC_CALLS_H_
#define COPSE_CLIENT_MPI_ASYNC_ASYNC_CALLS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/communicator.h"
#include "client/mpi/session/run_figures.h"
#include "client/mpi/session/session.h"
#include "client/tnbc/asynchronous_completion.h"
#include "client/tnbc/team_calls.h"
#include "client/tnbc/trace/call_recorder.h"

namespace copse::mpi {

// An AsyncCalls makes the asynchronous calls of this process. There is at most one, from StartAsyncCalls to
// StopAsyncCalls. Its functions are called by the threads that make collective calls, except Drain, WriteTrace, Print
// and Figures, which follow in this order when there are no more calls.
class AsyncCalls {
 public:
  AsyncCalls(Session* session, tnbc::PageGuard* guard);
  ~AsyncCalls();

  // Returns whether the call made at `site` in the program is fragmented, and sets `*division`. The result is equal on
  // all ranks of `communicator`; they may make a collective call to agree on it.
  bool IsFragmented(Communicator* communicator, const Offload& offload, const void* site,
                    tnbc::Fragmentation* division);
  // Counts the duration of a call that was not fragmented.
  static void CountWhole(Communicator* communicator, const Offload& offload, uint64_t nanoseconds);
  // An Origin is the name of a call and its return address in the program.
  struct Origin {
    const char* name = nullptr;
    const void* site = nullptr;
  };
  // Makes a call that is fragmented. Sets *error if it fails, and *waited_ns to the time for which the program has
  // waited for data of earlier calls of this kind since the last one.
  copse_status_t Run(Communicator* communicator, Offload* offload, const tnbc::Fragmentation& division,
                     const Origin& origin, std::string* error, uint64_t* waited_ns);

  // Waits for all data before MPI_Finalize, and reports failures that no later call has reported.
  void Drain();
  // Writes the trace, if COPSE_TNBC_TRACE is set.
  void WriteTrace();
  // Prints one line on standard error: rank 0 for copse-run --stats, every rank for COPSE_TNBC_STATS.
  void Print() const;
  EarlyFigures Figures();

  tnbc::AsynchronousCompletion& early_return() { return early_return_; }

 private:
  tnbc::RecordedCall* Record(Communicator* communicator, const Offload& offload, const tnbc::Fragmentation& division,
                             const void* site, uint64_t number);
  // Returns why the call may not return before its data has arrived; nullopt if it may. `waits_idly`: threads of the
  // program may wait for data without letting MPI make progress.
  std::optional<BlockReason> WhyBlocks(const Communicator& communicator, const Offload& offload,
                                       const tnbc::Fragmentation& division, const tnbc::CallSite& site,
                                       bool waits_idly);
  void CountBlocked(BlockReason reason) {
    blocked_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  }

  Session* const session_;
  uint64_t node_ = 0;  // hash of this node's name
  tnbc::AsynchronousCompletion early_return_;
  std::array<std::atomic<uint64_t>, static_cast<size_t>(BlockReason::kCount)> blocked_{};
  // It is never destroyed, since fault handlers may still write to its records.
  tnbc::CallRecorder* recorder_ = nullptr;  // null: no traces
};

// It is true once the program has made a request: MPI may then have messages in flight during a collective.
inline std::atomic<bool> the_program_makes_requests{false};
inline void NoteRequest() { the_program_makes_requests.store(true, std::memory_order_relaxed); }

// Returns null where no call completes asynchronously.
AsyncCalls* TheAsyncCalls();
// Starts asynchronous calls after StartSession, if its async_mode is not off. If there can be no thread, prints a line,
// and no call completes asynchronously.
void StartAsyncCalls(Session* session);
// Waits for all data, writes trace and statistics, and destroys TheAsyncCalls. EndSession follows it.
void StopAsyncCalls();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_ASYNC_CALLS_H_
