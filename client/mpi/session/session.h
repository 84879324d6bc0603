// SPDX-License-Identifier: Apache-2.0
//
// The state of libcopse-mpi in a process between MPI_Init and MPI_Finalize.
#ifndef COPSE_CLIENT_MPI_SESSION_SESSION_H_
#define COPSE_CLIENT_MPI_SESSION_SESSION_H_

#include <atomic>
#include <cstdint>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/async_settings.h"
#include "client/mpi/session/complaints.h"
#include "client/mpi/session/progress.h"
#include "client/mpi/session/settings.h"
#include "client/mpi/session/statistics.h"

namespace copse::mpi {

// TeamFormationTimes records the cost and the failures of forming teams, which decide whether a team is worth forming,
// and when forming is tried again after a failure. Thread-safe.
struct TeamFormationTimes {
  // The least that forming a team has taken, ns; more is waiting for others.
  std::atomic<uint64_t> least_ns{5'000'000};
  // Forming a team has failed, and is not tried again before this time of the steady clock, ns.
  std::atomic<uint64_t> none_before_ns{0};
  std::atomic<uint32_t> failures_in_a_row{0};
};

// The first MPI_Init makes the one Session of this process. It is never destroyed, so the order of exit handlers does
// not matter. After StartSession its plain fields are only read, and its other members are thread-safe.
struct Session {
  copse_context_t* context = nullptr;      // null: everything goes to MPI
  Reason without_context = Reason::kNone;  // why there is none
  Settings settings;
  AsyncMode async_mode = AsyncMode::kOff;
  AsyncSettings async;                // if that is not off
  uint64_t time_slice_before_ns = 0;  // of the main thread, before it was made shorter; 0: it was not
  int rank = 0;                       // in MPI_COMM_WORLD
  int size = 0;
  Progress progress;
  TeamFormationTimes formation_times;
  Statistics statistics;

  OffloadOptions offload_options() const { return {progress.own(), settings.message_bytes_max, settings.chooses_path}; }
};

// Returns null before MPI_Init, after MPI_Finalize, and in a forked child.
Session* TheSession();

// Starts what asynchronous completion needs and returns `wanted`; if that fails, returns kOff and adds the reason to
// `*complaints`.
using StartAsync = AsyncMode (*)(AsyncMode wanted, Complaints* complaints);

// Collective over MPI_COMM_WORLD, after MPI_Init. Attaches to the daemon; all ranks agree whether all could. If not,
// one rank warns, and everything goes to MPI, as it does in a job of one rank. `start_async` is called where the
// environment asks for it.
void StartSession(StartAsync start_async);

// Before MPI_Finalize: prints the statistics, if asked for. Returns the context, if there is one, for copse_fini, which
// leaves the teams, too.
copse_context_t* EndSession();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_SESSION_H_
