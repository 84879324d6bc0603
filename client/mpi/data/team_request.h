// SPDX-License-Identifier: Apache-2.0
//
// Makes the calls on a request of libcopse in the program's threads.
#ifndef COPSE_CLIENT_MPI_DATA_TEAM_REQUEST_H_
#define COPSE_CLIENT_MPI_DATA_TEAM_REQUEST_H_

#include <string>

#include "client/copse.h"
#include "client/mpi/api/failure_text.h"
#include "client/tnbc/pages/held_signals.h"

namespace copse::mpi {

// A TeamRequest refers to a request. Its functions hold signals back, since a signal handler that waits for memory must
// not interrupt libcopse while it holds a lock. Post, Test, GiveUp and Note set `*error` to the reason of a failure in
// one line. GiveUp cancels the request and returns COPSE_ERR_TIMED_OUT.
struct TeamRequest {
  copse_status_t Post() const {
    const tnbc::HeldSignals held;
    return Note(copse_post(request));
  }
  copse_status_t Test() const {
    const tnbc::HeldSignals held;
    return Note(copse_test(request));
  }
  void Wait(double seconds) const {
    const tnbc::HeldSignals held;
    copse_wait(request, seconds);
  }
  copse_status_t GiveUp(const std::string& why) const {
    const tnbc::HeldSignals held;
    copse_cancel(request);
    *error = why;
    return COPSE_ERR_TIMED_OUT;
  }
  copse_status_t Note(copse_status_t status) const {
    if (status < 0) *error = LastFailureText();
    return status;
  }

  copse_request_t* const request;
  std::string* const error;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DATA_TEAM_REQUEST_H_
