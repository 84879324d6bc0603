// SPDX-License-Identifier: Apache-2.0
//
// Makes a thread of the program wait for the daemon.
#ifndef COPSE_CLIENT_MPI_ASYNC_PROGRESSING_WAIT_H_
#define COPSE_CLIENT_MPI_ASYNC_PROGRESSING_WAIT_H_

#include "client/copse.h"
#include "client/mpi/api/wait_time.h"
#include "client/mpi/async/requests.h"
#include "client/mpi/session/session.h"

namespace copse::mpi {

// A ProgressingWait is the wait of one call, which lasts at most COPSE_TIMEOUT from its construction on. Meanwhile the
// process's operations in MPI and Copse make progress.
class ProgressingWait {
 public:
  explicit ProgressingWait(Session* session)
      : session_(session), since_(session->settings.timeout_s < 0 ? 0 : NowSeconds()) {}

  double slice() const { return session_->progress.slice(); }
  // Lets MPI and Copse make progress. Returns false, without progress, if the time is over.
  bool Turn() {
    if (session_->settings.IsOver(since_)) return false;
    session_->progress.Turn();
    return true;
  }

  // Posts a call, and waits for room if calls in flight have to end before. Queued requests of the team are posted
  // first, since the order of calls has to be kept; the time limit of these requests ends that wait, not this call's.
  // `*call` has Post, as Offload does.
  template <typename Call>
  copse_status_t Post(copse_team_t* team, Call* call) {
    while (TheRequests()->HasAny() && TheRequests()->HasQueued(team)) session_->progress.Turn();
    for (;;) {
      const copse_status_t status = call->Post();
      if (status != COPSE_ERR_NO_RESOURCE || !Turn()) return status;
    }
  }
  // Waits for a call and returns its result. If the time is over, gives the call up and returns COPSE_ERR_TIMED_OUT.
  // `*call` has Wait, Test and GiveUp, as Offload does.
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
