// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/intercepted.h"

#include <iterator>

#include "client/mpi/early_calls.h"
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
    if (const auto late = communicator->TakeLateFailure(); late != COPSE_OK) FailLate(late);
    // To look at the clock twice takes as long as all else that a call goes through that is passed on.
    if (start_ == 0 && communicator->WantsTimeOf(*session, reason)) start_ = NowNanoseconds();
  }
}

// Instead of this call: the team is not what it was. Memory whose data is lost becomes the program's again.
void CallState::FailLate(copse_status_t late) {
  status = late;
  error_ = std::string("a call that had returned early has failed: ") + copse_status_string(late);
  is_done = true;
  if (reason == Reason::kNone) reason = Reason::kFailedBefore;
  if (EarlyCalls* const early = TheEarlyCalls(); early != nullptr) early->early_return().ForgetLost();
}

void CallState::Note(copse_status_t noted, const Offload& offload) {
  status = noted;
  if (status != COPSE_OK) error_ = offload.error();
}

void CallState::Choose(const Offload& offload) {
  choice_ = communicator->ChoiceOf(*session, offload);
  if (choice_ == nullptr || choice_->path() == Path::kCopse) return;
  reason = choice_->is_settled() ? Reason::kFasterByMpi : Reason::kTrial;
}

copse_status_t CallState::RunOnTeam(Offload* offload) const {
  copse_team_t* const team = communicator->team();
  if (AnyPending()) TheEarlyCalls()->AwaitBuffers(team, *offload);
  const double since = session->timeout_s < 0 ? 0 : NowSeconds();
  copse_status_t now = offload->Init(team);
  if (now == COPSE_OK) now = offload->Pack();
  if (now == COPSE_OK) now = Post(session, team, offload, since);
  if (now == COPSE_OK) now = Await(session, offload, since);
  if (now == COPSE_OK) now = offload->Unpack();
  return now;
}

void CallState::Run(Offload* offload) {
  tnbc::Division division;
  EarlyCalls* const early = TheEarlyCalls();
  if (early != nullptr && early->Divides(communicator, *offload, &division)) {
    status = early->Run(communicator, offload, division, &error_, &waited_ns_);
    return;
  }
  Note(RunOnTeam(offload), *offload);
}

// By the team: if that has failed, or a rank handles errors itself by now, all goes to the team from here on, so that
// nobody waits by MPI for a rank that was told of a failure. What failed is told by the next call.
void CallState::Decide() {
  const PathTimes& mine = choice_->times();
  const uint64_t parts[] = {mine.copse_ns, mine.mpi_ns, communicator->EndsOnErrors() ? 0U : 1U};
  uint64_t most[std::size(parts)] = {};
  Offload offload(session, /*outlives_call=*/false);
  offload.args.collective = COPSE_COLL_ALLREDUCE;
  offload.args.type = COPSE_DT_UINT64;
  offload.args.op = COPSE_OP_MAX;
  offload.args.count = std::size(parts);
  offload.args.send = parts;
  offload.args.recv = most;
  const bool agreed = RunOnTeam(&offload) == COPSE_OK && most[2] == 0;
  choice_->Decide({most[0], mine.copse_calls, most[1], mine.mpi_calls}, /*copse_only=*/!agreed);
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

void CallState::Count() {
  const uint64_t taken = start_ > 0 ? NowNanoseconds() - start_ + waited_ns_ : 0;
  if (reason == Reason::kFirstCalls) communicator->CountFirst(taken);
  if (is_offloaded()) {
    session->statistics.CountOffloaded(entry, taken);
  } else {
    session->statistics.CountPassed(entry, reason, taken);
  }
  if (choice_ != nullptr && choice_->Count(taken)) Decide();
}

int CallState::Finish() const {
  if (status == COPSE_OK) return result;
  return communicator->Fail(NameOf(entry), status, error_.empty() ? copse_status_string(status) : error_.c_str());
}

}  // namespace copse::mpi
