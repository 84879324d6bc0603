// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/intercepted.h"

#include "client/mpi/wait_time.h"

namespace copse::mpi {
namespace {

copse_status_t Await(Session* session, Offload* offload, double since) {
  for (;;) {
    offload->Wait(session->slice());
    const copse_status_t status = offload->Test();
    if (status != COPSE_INPROGRESS) return status;
    if (session->IsOver(since)) return offload->GiveUp(kTimeIsOver);
    Drive(session);
  }
}

// A full queue has room again once calls that are under way have ended. Those of the team that wait for room themselves
// come first.
copse_status_t Post(Session* session, copse_team_t* team, Offload* offload, double since) {
  while (TheRequests()->HasAny() && TheRequests()->HasQueued(team)) Drive(session);
  for (;;) {
    const copse_status_t status = offload->Post();
    if (status != COPSE_ERR_NO_RESOURCE || session->IsOver(since)) return status;
    Drive(session);
  }
}

}  // namespace

constinit thread_local int InsideMpi::depth = 0;

CallState::CallState(Session* session, Entry entry)
    : session(session), entry(entry), start_(session->keeps_times ? NowNanoseconds() : 0) {}

void CallState::Enter(MPI_Comm comm, bool may_wait) {
  if (session->context == nullptr) {
    reason = session->size == 1 ? Reason::kOneRank : Reason::kNoDaemons;
  } else if (comm == MPI_COMM_NULL || (communicator = Communicator::Of(comm)) == nullptr) {
    reason = Reason::kBadArguments;
  } else {
    reason = communicator->Enter(session, may_wait);
  }
}

void CallState::Note(copse_status_t noted, const Offload& offload) {
  status = noted;
  if (status != COPSE_OK) error_ = offload.error();
}

void CallState::Run(Offload* offload) {
  copse_team_t* const team = communicator->team();
  const double since = session->timeout_s < 0 ? 0 : NowSeconds();
  copse_status_t now = offload->Init(team);
  if (now == COPSE_OK) now = offload->Pack();
  if (now == COPSE_OK) now = Post(session, team, offload, since);
  if (now == COPSE_OK) now = Await(session, offload, since);
  if (now == COPSE_OK) now = offload->Unpack();
  Note(now, *offload);
}

void CallState::Start(const std::shared_ptr<PendingCall>& call, MPI_Request* request) {
  call->team = communicator->team();
  Note(call->offload.Init(call->team), call->offload);
  if (status == COPSE_OK) result = TheRequests()->Start(call, request);
}

void CallState::MakePersistent(const std::shared_ptr<PendingCall>& call, MPI_Request* request) {
  call->persistent = true;
  call->team = communicator->FormPersistentTeam(session);
  if (call->team == nullptr) {
    reason = Reason::kNoTeam;
    return;
  }
  Note(call->offload.Init(call->team), call->offload);
  if (status == COPSE_OK) result = TheRequests()->MakePersistent(call, request);
}

void CallState::Count() const {
  const uint64_t taken = session->keeps_times ? NowNanoseconds() - start_ : 0;
  if (is_offloaded()) {
    session->statistics.CountOffloaded(entry, taken);
  } else {
    session->statistics.CountPassed(entry, reason, taken);
  }
}

int CallState::Finish() const {
  if (status == COPSE_OK) return result;
  return communicator->Fail(NameOf(entry), status, error_.empty() ? copse_status_string(status) : error_.c_str());
}

}  // namespace copse::mpi
