// SPDX-License-Identifier: Apache-2.0
//
// A request of libcopse, as threads of the program use it.
#ifndef COPSE_CLIENT_MPI_DATA_TEAM_REQUEST_H_
#define COPSE_CLIENT_MPI_DATA_TEAM_REQUEST_H_

#include <string>

#include "client/copse.h"
#include "client/mpi/api/failure_text.h"
#include "client/tnbc/pages/held_signals.h"

namespace copse::mpi {

// Signals are held in each call, since libcopse takes locks. `*error` gets the reason of a failure, one line.
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
