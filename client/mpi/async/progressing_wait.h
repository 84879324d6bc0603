// SPDX-License-Identifier: Apache-2.0
//
// How a thread of the program's waits for the daemon.
#ifndef COPSE_CLIENT_MPI_ASYNC_PROGRESSING_WAIT_H_
#define COPSE_CLIENT_MPI_ASYNC_PROGRESSING_WAIT_H_

#include "client/copse.h"
#include "client/mpi/api/wait_time.h"
#include "client/mpi/async/requests.h"
#include "client/mpi/session/session.h"

namespace copse::mpi {

// The waiting of one call, for COPSE_TIMEOUT at most from its construction on. What the process has under way
// progresses meanwhile.
class ProgressingWait {
 public:
  explicit ProgressingWait(Session* session)
      : session_(session), since_(session->settings.timeout_s < 0 ? 0 : NowSeconds()) {}

  double slice() const { return session_->progress.slice(); }
  // Lets everything progress. Returns false, having done nothing, if the time is over.
  bool Turn() {
    if (session_->settings.IsOver(since_)) return false;
    session_->progress.Turn();
    return true;
  }

  // Posts a call, waiting for room, which there is again once calls that are under way have ended. Requests of the team
  // that wait for room themselves come first. `*call` has Post, as Offload does.
  template <typename Call>
  copse_status_t Post(copse_team_t* team, Call* call) {
    while (TheRequests()->HasAny() && TheRequests()->HasQueued(team)) session_->progress.Turn();
    for (;;) {
      const copse_status_t status = call->Post();
      if (status != COPSE_ERR_NO_RESOURCE || !Turn()) return status;
    }
  }
  // Waits for a call's end. `*call` has Wait, Test and GiveUp, as Offload does.
  template <typename Call>
  copse_status_t Await(Call* call) {
    for (;;) {
      call->Wait(slice());
      const copse_status_t status = call->Test();
      if (status != COPSE_INPROGRESS) return status;
      if (!Turn()) return call->GiveUp(session_->settings.TimeIsOverText().c_str());
    }
  }

 private:
  Session* const session_;
  const double since_;  // seconds
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_PROGRESSING_WAIT_H_
