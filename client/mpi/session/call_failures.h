// SPDX-License-Identifier: Apache-2.0
//
// Keeps the failures of a communicator's calls from which later calls learn.
#ifndef COPSE_CLIENT_MPI_SESSION_CALL_FAILURES_H_
#define COPSE_CLIENT_MPI_SESSION_CALL_FAILURES_H_

#include <atomic>

#include "client/copse.h"

namespace copse::mpi {

// CallFailures holds the failures of one communicator's calls. Thread-safe.
class CallFailures {
 public:
  // Returns whether this is the first failure.
  bool IsFirst() { return !has_failed_.exchange(true, std::memory_order_relaxed); }

  // Records that an asynchronous call has failed after its MPI call had returned. Does not allocate.
  void NoteLate(copse_status_t status) { late_.store(status, std::memory_order_relaxed); }
  // Returns the failure that NoteLate has recorded, and clears it; COPSE_OK if there is none.
  copse_status_t TakeLate() {
    if (late_.load(std::memory_order_relaxed) == COPSE_OK) return COPSE_OK;
    return static_cast<copse_status_t>(late_.exchange(COPSE_OK, std::memory_order_relaxed));
  }

  // Records that a call has failed on this rank alone before it was posted. The ranks' calls no longer match, so all
  // later calls of this rank fail.
  void SetOutOfStep() { is_out_of_step_.store(true, std::memory_order_relaxed); }
  // Calls SetOutOfStep if other ranks may have posted the call that failed with `status` here before it was posted.
  void NoteNotPosted(copse_status_t status) {
    if (status == COPSE_ERR_NO_RESOURCE || status == COPSE_ERR_NO_MEMORY || status == COPSE_ERR_TIMED_OUT)
      SetOutOfStep();
  }
  bool is_out_of_step() const { return is_out_of_step_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> late_{COPSE_OK};
  std::atomic<bool> is_out_of_step_{false};
  std::atomic<bool> has_failed_{false};
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_SESSION_CALL_FAILURES_H_
