// SPDX-License-Identifier: Apache-2.0
//
// What a rank does while it waits for Copse, so that others do not wait for it.
#ifndef COPSE_CLIENT_MPI_SESSION_PROGRESS_H_
#define COPSE_CLIENT_MPI_SESSION_PROGRESS_H_

#include <atomic>

#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

// A rank that waits for Copse is in an MPI call, and others may wait for messages that it has started before: so it
// sleeps for one slice at a time, and gives MPI a turn between slices. Thread-safe after Start.
class Progress {
 public:
  // After MPI_Init, and before MPI_Finalize.
  void Start();
  void Stop();

  // A communicator of this process alone, on which errors are returned.
  MPI_Comm own() const { return own_; }

  // `poll` ends Copse's requests whose results have come. Called once, before the first turn that needs it.
  void SetPoll(void (*poll)()) { poll_ = poll; }

  // Lets MPI go on with what it has under way.
  void TurnMpi();
  // TurnMpi, and ends Copse's requests whose results have come.
  void Turn() {
    TurnMpi();
    if (poll_ != nullptr) poll_();
  }

  // How long a rank that waits for Copse sleeps before it gives MPI a turn, seconds. Without windows most calls are
  // over before the first one. Where turns take long, there are more ranks than processors, and ranks sleep longer,
  // since their turns would take the time that the daemons need.
  double slice() const;

  // What the program asked MPI_Init_thread for, and was given.
  int thread_level() const { return thread_level_; }
  // Returns whether the calling thread may call MPI.
  bool MayTurn() const;

  // The program's windows (MPI_Win): accesses to them may need many turns of this process's MPI.
  void CountWindows(int change) { windows_.fetch_add(change, std::memory_order_relaxed); }
  bool has_windows() const { return windows_.load(std::memory_order_relaxed) > 0; }

 private:
  MPI_Comm own_ = MPI_COMM_NULL;
  MPI_Request never_ = MPI_REQUEST_NULL;  // a receive on it, which no message completes
  void (*poll_)() = nullptr;
  int thread_level_ = MPI_THREAD_SINGLE;
  long main_thread_ = 0;  // the kernel's number
  std::atomic<int> windows_{0};
  // The longest turn lately, seconds. A turn of a rank that shares its processor may take a time slice, as MPIs yield
  // where they find nothing to do.
  std::atomic<double> turn_s_{0};
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_PROGRESS_H_
