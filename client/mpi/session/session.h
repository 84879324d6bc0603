// SPDX-License-Identifier: Apache-2.0
//
// Holds the state of libcopse-mpi in a process between MPI_Init and MPI_Finalize.
#ifndef COPSE_CLIENT_MPI_SESSION_SESSION_H_
#define COPSE_CLIENT_MPI_SESSION_SESSION_H_

#include <atomic>
#include <cstdint>

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/async_settings.h"
#include "client/mpi/session/complaints.h"
#include "client/mpi/session/parent_teams.h"
#include "client/mpi/session/progress.h"
#include "client/mpi/session/settings.h"
#include "client/mpi/session/statistics.h"

namespace copse::mpi {

// TeamFormationTimes records the cost and the failures of forming teams, which decide whether a team is worth forming,
// and when forming is tried again after a failure. Thread-safe.
struct TeamFormationTimes {
  // The factor is large, since a team's first calls are slow, too: plans are fetched and both paths are measured.
  static constexpr uint64_t kTimesTeam = 200;

  // It is the shortest time of forming a team so far, ns, which includes the least waiting for other ranks. At first it
  // is an estimate.
  std::atomic<uint64_t> least_ns{5'000'000};
  // Returns the time that calls by MPI have to take before their communicator is worth a team.
  uint64_t worth_ns() const { return kTimesTeam * least_ns; }
  // No team is formed before this time of the steady clock, ns, after a failure.
  std::atomic<uint64_t> none_before_ns{0};
  std::atomic<uint32_t> failures_in_a_row{0};
};

// The first MPI_Init makes the one Session of this process. It is never destroyed, so the order of exit handlers does
// not matter. After StartSession its plain fields are only read, and its other members are thread-safe.
struct Session {
  copse_context_t* context = nullptr;      // null: everything goes to MPI
  Reason without_context = Reason::kNone;  // reason why there is no context
  Settings settings;
  AsyncMode async_mode = AsyncMode::kOff;
  AsyncSettings async;                // valid unless async_mode is kOff
  uint64_t time_slice_before_ns = 0;  // the main thread's time slice before it was shortened; 0: it was not shortened
  int rank = 0;                       // in MPI_COMM_WORLD
  int size = 0;
  Progress progress;
  TeamFormationTimes formation_times;
  ParentTeams parent_teams;
  Statistics statistics;

  OffloadOptions offload_options() const { return {progress.own(), settings.message_bytes_max, settings.chooses_path}; }
};

// Returns null before MPI_Init, after MPI_Finalize, and in a forked child.
Session* TheSession();

// Starts what asynchronous completion needs and returns `wanted`; if that fails, returns kOff and adds the reason to
// `*complaints`. Also adds settings that are ignored or not supported.
using StartAsync = AsyncMode (*)(AsyncMode wanted, Complaints* complaints);

// Makes the Session and attaches to the daemon. It is called after MPI_Init and collective over MPI_COMM_WORLD, as all
// ranks agree whether all have attached. If not, one rank warns and all calls go to MPI, as they do in a job of one
// rank. `start_async` is called if COPSE_TNBC is not off.
void StartSession(StartAsync start_async);

// Ends the session before MPI_Finalize, and prints rank 0's statistics if COPSE_MPI_STATS or COPSE_MPI_STATS_FILE is
// set. Returns the context, which the caller passes to copse_fini; null if there is none.
copse_context_t* EndSession();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_SESSION_H_
