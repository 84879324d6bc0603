// SPDX-License-Identifier: Apache-2.0
//
// How a thread of the program's waits for the daemon.
#ifndef COPSE_CLIENT_MPI_DRIVEN_WAIT_H_
#define COPSE_CLIENT_MPI_DRIVEN_WAIT_H_

#include "client/copse.h"
#include "client/mpi/requests.h"
#include "client/mpi/session.h"
#include "client/mpi/wait_time.h"

namespace copse::mpi {

// The waiting of one call, within COPSE_TIMEOUT from its making on. What the process has under way goes on meanwhile.
class DrivenWait {
 public:
  explicit DrivenWait(Session* session) : session_(session), since_(session->timeout_s < 0 ? 0 : NowSeconds()) {}

  double slice() const { return session_->slice(); }
  bool is_over() const { return session_->IsOver(since_); }
  // Lets everything go on. False, having done nothing, if the time is over.
  bool Turn() {
    if (is_over()) return false;
    Drive(session_);
    return true;
  }

  // A full queue has room again once calls that are under way have ended. Those of the team that wait for room
  // themselves come first. `*call`: Post.
  template <typename Call>
  copse_status_t Post(copse_team_t* team, Call* call) {
    while (TheRequests()->HasAny() && TheRequests()->HasQueued(team)) Drive(session_);
    for (;;) {
      const copse_status_t status = call->Post();
      if (status != COPSE_ERR_NO_RESOURCE || !Turn()) return status;
    }
  }
  // `*call`: Wait, Test and GiveUp, as Offload has them.
  template <typename Call>
  copse_status_t Await(Call* call) {
    for (;;) {
      call->Wait(slice());
      const copse_status_t status = call->Test();
      if (status != COPSE_INPROGRESS) return status;
      if (!Turn()) return call->GiveUp(session_->TimeIsOverText().c_str());
    }
  }

 private:
  Session* const session_;
  const double since_;  // seconds
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_DRIVEN_WAIT_H_
