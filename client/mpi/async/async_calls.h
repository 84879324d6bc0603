// SPDX-License-Identifier: Apache-2.0
//
// Blocking calls of the program that complete asynchronously: they return before their data is there.
#ifndef COPSE_CLIENT_MPI_ASYNC_ASYNC_CALLS_H_
#define COPSE_CLIENT_MPI_ASYNC_ASYNC_CALLS_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/communicator.h"
#include "client/mpi/session/session.h"
#include "client/tnbc/asynchronous_completion.h"
#include "client/tnbc/team_calls.h"
#include "client/tnbc/trace/call_recorder.h"

namespace copse::mpi {

// The asynchronous calls of this process; one object, between MPI_Init and MPI_Finalize.
class AsyncCalls {
 public:
  AsyncCalls(Session* session, tnbc::PageGuard* guard);
  ~AsyncCalls();

  // Returns whether the call, made at `site` in the program, is one of those that are fragmented, and how; all ranks of
  // `communicator` find the same. May be a collective call.
  bool IsFragmented(Communicator* communicator, const Offload& offload, const void* site,
                    tnbc::Fragmentation* division);
  // Counts the time of a call that was not fragmented.
  static void CountWhole(Communicator* communicator, const Offload& offload, uint64_t nanoseconds);
  // A call's name, and its place in the program.
  struct Origin {
    const char* name = nullptr;
    const void* site = nullptr;
  };
  // Makes a call that is fragmented. *error says why it failed. *waited_ns: what the program has waited for data of
  // earlier calls of this kind, since the last one.
  copse_status_t Run(Communicator* communicator, Offload* offload, const tnbc::Fragmentation& division,
                     const Origin& origin, std::string* error, uint64_t* waited_ns);

  // Waits for all data. Before MPI_Finalize.
  void Drain();
  // Writes the trace, if one is wanted, after Drain.
  void WriteTrace();
  // Prints one line on standard error: rank 0 for copse-run --stats, every rank for COPSE_TNBC_STATS.
  void Print() const;

  tnbc::AsynchronousCompletion& early_return() { return early_return_; }

 private:
  tnbc::RecordedCall* Record(Communicator* communicator, const Offload& offload, const tnbc::Fragmentation& division,
                             const void* site, uint64_t number);
  // `waits_idly`: threads of the program may wait for data without giving MPI turns.
  bool MayReturn(const Communicator& communicator, const Offload& offload, const tnbc::Fragmentation& division,
                 const tnbc::CallSite& site, bool waits_idly);

  Session* const session_;
  uint64_t node_ = 0;  // a hash of this process's node's name
  tnbc::AsynchronousCompletion early_return_;
  // Never destroyed: handlers may be writing to what it has.
  tnbc::CallRecorder* recorder_ = nullptr;  // null: no traces
};

// Whether the program has ever made a request, so that MPI may have messages under way while a collective is made.
inline std::atomic<bool> the_program_makes_requests{false};
inline void NoteRequest() { the_program_makes_requests.store(true, std::memory_order_relaxed); }

// Returns null where no call completes asynchronously.
AsyncCalls* TheAsyncCalls();
// After StartSession.
void StartAsyncCalls(Session* session);
// Before EndSession.
void StopAsyncCalls();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_ASYNC_CALLS_H_
