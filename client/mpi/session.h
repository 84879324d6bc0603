// SPDX-License-Identifier: Apache-2.0
//
// What a process has of Copse between MPI_Init and MPI_Finalize.
#ifndef COPSE_CLIENT_MPI_SESSION_H_
#define COPSE_CLIENT_MPI_SESSION_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "client/copse.h"
#include "client/mpi/async_settings.h"
#include "client/mpi/mpi_api.h"
#include "client/mpi/statistics.h"
#include "client/mpi/wait_time.h"

namespace copse::mpi {

// The session of this process: one, made by the first MPI_Init. Never destroyed, so that no order of exits matters.
// After StartSession its fields are only read; calls are thread-safe.
struct Session {
  copse_context_t* context = nullptr;      // null: everything goes to MPI
  Reason without_context = Reason::kNone;  // why there is none
  // Collective calls that a communicator sees before it gets a team; the same on all ranks.
  uint64_t calls_before = 0;
  uint64_t calls_before_of_world = 0;
  // Whether a communicator has to have spent as much time in calls as makes a team worth its while, too.
  bool weighs_teams = true;
  // Whether calls that are faster by MPI go there. Equal on all ranks, as the above.
  bool chooses_path = true;
  uint64_t message_bytes_max = 0;     // of one call's longest buffer
  double timeout_s = -1;              // COPSE_TIMEOUT; < 0: none
  bool keeps_times = false;           // COPSE_MPI_STATS
  uint64_t time_slice_before_ns = 0;  // of the main thread, before it was made shorter; 0: it was not
  uint8_t async_mode = 0;             // an AsyncMode
  AsyncSettings async;                // if that is not off
  int thread_level = MPI_THREAD_SINGLE;
  long main_thread = 0;  // the kernel's number
  int rank = 0;          // in MPI_COMM_WORLD
  int size = 0;
  MPI_Comm own = MPI_COMM_NULL;          // of this process alone; errors are returned
  MPI_Request never = MPI_REQUEST_NULL;  // a receive on it that nobody sends to
  // Of the program's. Others' accesses to them may need turns of this process's MPI, and many of them.
  std::atomic<int> windows{0};
  // What forming a team takes, ns: the least that it has taken. More is waiting for others.
  std::atomic<uint64_t> team_ns{5'000'000};
  // Of the steady clock, ns: forming a team has failed, and is not tried again before.
  std::atomic<uint64_t> no_teams_before_ns{0};
  // Failures in a row.
  std::atomic<uint32_t> teams_not_formed{0};
  Statistics statistics;

  // What a turn of the MPI takes a rank that waits, seconds: lately at most. Where others want the processor it may be
  // a time slice, as MPIs yield where they find nothing to do.
  std::atomic<double> turn_s{0};

  // For how long a rank that waits for Copse sleeps before it gives MPI a turn, seconds. Without windows most calls are
  // over before the first one. Where turns take long, ranks have more of them than there are processors, and rest
  // longer, lest their turns take the time that the daemons need.
  double slice() const;

  // Whether a call that began at `since` (seconds, of NowSeconds) has used up its time.
  bool IsOver(double since) const { return timeout_s >= 0 && NowSeconds() - since > timeout_s; }

  // What to say of it.
  std::string TimeIsOverText() const;

  // Lets the program's MPI go on with what it has under way: a rank that waits for Copse is in an MPI call, and others
  // may wait for what it has started before.
  void Progress();
};

// Null before MPI_Init, after MPI_Finalize, and in a forked child.
Session* TheSession();

// Collective over MPI_COMM_WORLD, after MPI_Init. Attaches to the daemon; all ranks agree whether all could, else one
// warning, and everything goes to MPI, as it does where there is one rank.
void StartSession();

// Before MPI_Finalize: prints the statistics, if asked for. Returns the context, if there is one, for copse_fini, which
// leaves the teams, too.
copse_context_t* EndSession();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_H_
