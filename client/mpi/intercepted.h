// SPDX-License-Identifier: Apache-2.0
//
// How every intercepted collective goes: to the communicator's team, or on to MPI.
#ifndef COPSE_CLIENT_MPI_INTERCEPTED_H_
#define COPSE_CLIENT_MPI_INTERCEPTED_H_

#include <cstdint>
#include <new>
#include <string>

#include "client/mpi/back_end.h"
#include "client/mpi/communicator.h"
#include "client/mpi/mpi_api.h"
#include "client/mpi/offload.h"
#include "client/mpi/session.h"
#include "client/mpi/statistics.h"

namespace copse::mpi {

// While one exists, what this thread calls is MPI's own doing, or ours, and goes straight to MPI.
class InsideMpi {
 public:
  InsideMpi() { ++depth; }
  ~InsideMpi() { --depth; }
  InsideMpi(const InsideMpi&) = delete;
  InsideMpi& operator=(const InsideMpi&) = delete;

  static bool IsNested() { return depth > 0; }

 private:
  // Not inline: that would be one variable for all libraries of a process.
  static constinit thread_local int depth;
};

// Nanoseconds of a clock that only goes forward.
uint64_t NowNanoseconds();

// A call on its way: what it goes to, and what came of it.
struct CallState {
  Session* session;
  Communicator* communicator = nullptr;
  Reason reason = Reason::kNone;
  copse_status_t status = COPSE_OK;  // of the offload
  std::string error;
  int result = MPI_SUCCESS;  // of MPI
};

// Finds the communicator, counts the call, and decides as far as arguments have no part in it.
void Enter(MPI_Comm comm, CallState* call);
void RunOffload(Offload* offload, CallState* call);
// Lets the communicator's error handler know. It is the program's, which may go on with MPI from there.
int Fail(Entry entry, const CallState& call);

// One collective call of the program on `comm`. `prepare(const Communicator&, Offload*)` fills in the offload and
// returns kNone, or says why the call goes to MPI, which `pass()` calls. Returns what the program's call returns.
template <typename Prepare, typename Pass>
int Collective(Entry entry, MPI_Comm comm, Prepare prepare, Pass pass) {
  CallState call = {.session = TheSession()};
  if (call.session == nullptr || InsideMpi::IsNested()) return pass();
  {
    const InsideMpi inside;
    Statistics* statistics = &call.session->statistics;
    const uint64_t start = call.session->keeps_times ? NowNanoseconds() : 0;
    const auto taken = [&] { return call.session->keeps_times ? NowNanoseconds() - start : 0; };
    Enter(comm, &call);
    if (call.reason == Reason::kNone) {
      try {
        Offload offload(call.session, call.communicator->team(), comm);
        call.reason = prepare(static_cast<const Communicator&>(*call.communicator), &offload);
        if (call.reason == Reason::kNone) RunOffload(&offload, &call);
      } catch (const std::bad_alloc&) {  // nothing else fails so
        call.status = COPSE_ERR_NO_MEMORY;
      }
    }
    if (call.reason == Reason::kNone) {
      statistics->CountOffloaded(entry, taken());
    } else {
      call.result = pass();
      statistics->CountPassed(entry, call.reason, taken());
    }
  }
  return call.status == COPSE_OK ? call.result : Fail(entry, call);
}

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_INTERCEPTED_H_
