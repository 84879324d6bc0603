// SPDX-License-Identifier: Apache-2.0
//
// Blocking calls of the program's that return before their data is there, and what waits for pending memory.
#ifndef COPSE_CLIENT_MPI_EARLY_CALLS_H_
#define COPSE_CLIENT_MPI_EARLY_CALLS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/copse.h"
#include "client/mpi/communicator.h"
#include "client/mpi/memory_hooks.h"
#include "client/mpi/mpi_api.h"
#include "client/mpi/offload.h"
#include "client/mpi/session.h"
#include "client/tnbc/asynchronous_completion.h"
#include "client/tnbc/pages/pending_ranges.h"
#include "client/tnbc/trace/call_recorder.h"

namespace copse::mpi {

// How this back end hands its hooks to the preload. Set when the back end is started, before any of the program's
// calls.
extern SetMemoryHooks the_set_memory_hooks;

// COPSE_TNBC. On ranks that differ, the least holds.
enum class EarlyMode : uint8_t { kOff, kAuto, kOn };

// What this process is to do, by its environment and by what its system allows. Where that is not what was asked for,
// `complaints` get why.
EarlyMode WantedEarlyMode(std::vector<std::string>* complaints);

// Early returns of this process; one, between MPI_Init and MPI_Finalize.
class EarlyCalls {
 public:
  EarlyCalls(Session* session, tnbc::PageGuard* guard);

  // Whether the call, made at `site` in the program, is one of those that are divided; all ranks of `communicator` find
  // the same. May be a collective call, the first time.
  bool Divides(Communicator* communicator, const Offload& offload, const void* site, tnbc::Fragmentation* division);
  // What a call took that was not.
  static void CountWhole(Communicator* communicator, const Offload& offload, uint64_t nanoseconds);
  // A call's name, and where it is made in the program.
  struct Origin {
    const char* name = nullptr;
    const void* site = nullptr;
  };
  // Makes a call that is divided. *error says why it failed.
  // *waited_ns: for data of earlier calls of its kind, since the last one.
  copse_status_t Run(Communicator* communicator, Offload* offload, const tnbc::Fragmentation& division,
                     const Origin& origin, std::string* error, uint64_t* waited_ns);

  // Until nothing of a call's buffers is pending but what is lost. Returns whether nothing is; of types with gaps,
  // whether nothing at all is.
  bool AwaitBuffers(const Communicator& communicator, const Offload& offload);
  // The same of all memory.
  bool AwaitAll();
  // Before MPI_Finalize.
  void Drain();
  // After that: the trace, if one is wanted.
  void WriteTrace();
  // One line on standard error: rank 0's for copse-run --stats, everybody's for COPSE_TNBC_STATS.
  void Print() const;

  tnbc::AsynchronousCompletion& early_return() { return early_return_; }

 private:
  tnbc::RecordedCall* Record(Communicator* communicator, const Offload& offload, const tnbc::Fragmentation& division,
                             const void* site, uint64_t number);

  Session* const session_;
  uint64_t node_ = 0;  // a hash of this process's node's name
  tnbc::PageGuard* const guard_;
  tnbc::AsynchronousCompletion early_return_;
  // Never destroyed: handlers may be writing to what it has.
  tnbc::CallRecorder* recorder_ = nullptr;  // null: no traces
};

// Whether the program has ever made a request, so that MPI may have messages under way while a collective is made.
inline std::atomic<bool> the_program_makes_requests{false};
inline void NoteRequest() { the_program_makes_requests.store(true, std::memory_order_relaxed); }

// Before MPI is initialized, which may start threads of its own.
void NoteThreadsBeforeInit();

// Null where calls never return early.
EarlyCalls* TheEarlyCalls();
// After StartSession, if its mode is not off.
void StartEarlyCalls(Session* session);
// Before EndSession.
void StopEarlyCalls();

// Whether any memory is pending: the question before every call that passes a buffer on.
bool AnyPending();
// Until none is but what is lost.
void AwaitAllPending();
// The same. Returns whether nothing is.
bool AwaitEverything();
// For calls that go to MPI with a buffer: until nothing of it is pending but what is lost. Returns whether nothing is.
bool AwaitMessage(const void* buffer, int64_t count, MPI_Datatype type);
// The memory that it is in; all of it, if the type tells nothing.
tnbc::Range MemoryOf(const void* buffer, int64_t count, MPI_Datatype type);
bool AwaitRange(const tnbc::Range& memory);

// Why calls fail that are given such memory, one line.
inline constexpr char kLostData[] =
    "the data of its buffer is lost: an MPI call that returned early, on another communicator, has failed since";

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_EARLY_CALLS_H_
