// SPDX-License-Identifier: Apache-2.0
//
// Lets MPI make progress while a rank waits for Copse.
#ifndef COPSE_CLIENT_MPI_SESSION_PROGRESS_H_
#define COPSE_CLIENT_MPI_SESSION_PROGRESS_H_

#include <atomic>

#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

// A Progress calls MPI's progress engine. A rank that waits for Copse is in an MPI call, and other ranks may wait for
// messages that it has started before. So it blocks for one slice at a time, and lets MPI make progress between slices.
// Thread-safe between Start and Stop, except SetPoll.
class Progress {
 public:
  // Start is called in the thread of MPI_Init, after it; Stop before MPI_Finalize.
  void Start();
  void Stop();

  // Returns a communicator of this process alone, with MPI_ERRORS_RETURN.
  MPI_Comm own() const { return own_; }

  // Sets the function that completes requests of Copse whose results have come. It is called once, before the first
  // Turn.
  void SetPoll(void (*poll)()) { poll_ = poll; }

  // Lets MPI make progress on its operations. Only in a thread that may call MPI (MayTurn).
  void TurnMpi();
  // Does what TurnMpi does, and calls the function of SetPoll.
  void Turn() {
    TurnMpi();
    if (poll_ != nullptr) poll_();
  }

  // Returns the time in seconds for which a rank that waits for Copse blocks between calls of MPI's progress engine. If
  // these take long, there are more ranks than cores; slices are longer then, to leave the cores to the daemons.
  double slice() const;

  // Returns the thread level that MPI provides to the program.
  int thread_level() const { return thread_level_; }
  // Returns whether the calling thread may call MPI.
  bool MayTurn() const;

  // Count the program's windows (MPI_Win). Accesses of other ranks to them may need this process's progress often, so
  // slices are short while there are windows.
  void CountWindows(int change) { windows_.fetch_add(change, std::memory_order_relaxed); }
  bool has_windows() const { return windows_.load(std::memory_order_relaxed) > 0; }

 private:
  MPI_Comm own_ = MPI_COMM_NULL;
  MPI_Request never_ = MPI_REQUEST_NULL;  // a receive on own_ that no message completes
  void (*poll_)() = nullptr;
  int thread_level_ = MPI_THREAD_SINGLE;
  long main_thread_ = 0;  // kernel's id of the thread that called MPI_Init
  std::atomic<int> windows_{0};
  // It is the duration of the longest recent TurnMpi, in seconds; older ones decay. It may take a time slice where
  // ranks share a core, as MPIs yield when they find nothing to do.
  std::atomic<double> turn_s_{0};
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_PROGRESS_H_
