// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/intercepted.h"

#include <iterator>
#include <new>

#include "client/mpi/api/output_line.h"
#include "client/mpi/api/wait_time.h"
#include "client/mpi/async/progressing_wait.h"

namespace copse::mpi {
InterceptedCall::InterceptedCall(Session* session, Entry entry)
    : session(session), entry(entry), start_(session->settings.keeps_times() ? NowNanoseconds() : 0) {}

void InterceptedCall::Enter(MPI_Comm comm, bool may_wait) {
  if (session->context == nullptr) {
    reason = session->without_context;
  } else if (comm == MPI_COMM_NULL || (communicator = Communicator::Of(comm)) == nullptr) {
    reason = Reason::kBadArguments;
  } else {
    reason = communicator->Enter(session, may_wait);
    const uint64_t forming = communicator->TakeFormingTime();
    if (start_ != 0) start_ += forming;
    if (!TakeLateFailure() && communicator->failures().is_out_of_step()) {
      FailBefore(COPSE_ERR_CANCELED, "a call has failed on this rank alone");
    }
    // The clock is read only if needed: reading it twice takes as long as everything else for a call that is passed on.
    if (start_ == 0 && communicator->WantsTimeOf(*session, reason)) start_ = NowNanoseconds();
  }
}

// Fails the call before it is made, since an earlier call has failed.
void InterceptedCall::FailBefore(copse_status_t why, const char* text) {
  status = why;
  error_ = std::string(text) + ": " + copse_status_string(why);
  is_done = true;
  reason = Reason::kFailedBefore;
}

// Fails this call if an earlier one has failed after it had returned. Lost memory is then accessible again, as the
// program is notified.
bool InterceptedCall::TakeLateFailure() {
  const copse_status_t late = communicator->failures().TakeLate();
  if (late == COPSE_OK) return false;
  FailBefore(late, "an asynchronous call has failed since it returned");
  if (AsyncCalls* const async = TheAsyncCalls(); async != nullptr) async->early_return().ForgetLost();
  return true;
}

void InterceptedCall::Lose(Offload* offload) {
  if (TakeLateFailure()) return;
  Note(offload->Lose(kLostData), *offload);
  communicator->failures().SetOutOfStep();
}

void InterceptedCall::Note(copse_status_t noted, const Offload& offload) {
  status = noted;
  if (status != COPSE_OK) error_ = offload.error();
}

void InterceptedCall::Choose(const Offload& offload) {
  choice_ = communicator->ChoiceOf(*session, offload);
  if (choice_ == nullptr || choice_->path() == Path::kCopse) return;
  reason = choice_->is_settled() ? Reason::kFasterByMpi : Reason::kTrial;
}

copse_status_t InterceptedCall::RunOnTeam(Offload* offload) const {
  copse_team_t* const team = communicator->team();
  ProgressingWait wait(session);
  copse_status_t now = offload->Init(team);
  if (now == COPSE_OK) {
    now = offload->Pack();
    if (now != COPSE_OK) communicator->failures().SetOutOfStep();
  }
  if (now == COPSE_OK) now = wait.Post(team, offload);
  if (now != COPSE_OK) communicator->failures().NoteNotPosted(now);
  if (now == COPSE_OK) now = wait.Await(offload);
  if (now == COPSE_OK) now = offload->Unpack();
  return now;
}

void InterceptedCall::Run(Offload* offload) {
  AsyncCalls* const async = TheAsyncCalls();
  if (!AwaitBuffers(*communicator, *offload)) return Lose(offload);
  if (async == nullptr) return Note(RunOnTeam(offload), *offload);
  tnbc::Fragmentation division;
  if (async->IsFragmented(communicator, *offload, site, &division)) {
    status = async->Run(communicator, offload, division, {NameOf(entry), site}, &error_, &waited_ns_);
    return;
  }
  const uint64_t since = NowNanoseconds();
  Note(RunOnTeam(offload), *offload);
  AsyncCalls::CountWhole(communicator, *offload, NowNanoseconds() - since);
}

// Lets all ranks agree on the path of later calls, by an allreduce of the team. If that fails, or errors no longer end
// the job on some rank, all calls go to the team from here on: in MPI a rank could wait for one that got an error. The
// next call reports the failure.
void InterceptedCall::Decide() {
  const PathTimes& mine = choice_->times();
  const uint64_t parts[] = {mine.copse.ns, mine.mpi.ns, communicator->EndsOnErrors() ? 0U : 1U};
  uint64_t most[std::size(parts)] = {};
  Offload offload(session->offload_options(), /*outlives_call=*/false);
  offload.args.collective = COPSE_COLL_ALLREDUCE;
  offload.args.type = COPSE_DT_UINT64;
  offload.args.op = COPSE_OP_MAX;
  offload.args.count = std::size(parts);
  offload.args.send = parts;
  offload.args.recv = most;
  const bool agreed = RunOnTeam(&offload) == COPSE_OK;
  if (most[2] != 0) communicator->SetHandlesErrors();
  choice_->Decide({{most[0], mine.copse.calls}, {most[1], mine.mpi.calls}}, /*copse_only=*/!agreed);
}

void InterceptedCall::Start(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request) {
  call->team = communicator->team();
  Note(call->offload.Init(call->team), call->offload);
  communicator->failures().NoteNotPosted(status);
  if (status == COPSE_OK) result = TheRequests()->Start(call, request);
}

void InterceptedCall::MakePersistent(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request) {
  call->persistent = true;
  call->team = communicator->FormPersistentTeam(session);
  if (call->team == nullptr) {
    reason = Reason::kNoTeam;
    return;
  }
  Note(call->offload.Init(call->team), call->offload);
  if (status == COPSE_OK) result = TheRequests()->MakePersistent(call, request);
}

void InterceptedCall::Count() {
  const uint64_t forming = communicator == nullptr ? 0 : communicator->TakeFormingTime();
  const uint64_t taken = start_ > 0 ? NowNanoseconds() - start_ - forming + waited_ns_ : 0;
  if (reason == Reason::kFirstCalls) communicator->CountFirst(taken);
  if (is_offloaded()) {
    session->statistics.CountOffloaded(entry, taken);
  } else {
    session->statistics.CountPassed(entry, reason, taken);
  }
  if (choice_ == nullptr) return;
  session->statistics.CountCompared(entry, is_offloaded() ? Path::kCopse : Path::kMpi, choice_->compared());
  if (choice_->Count(taken)) Decide();
}

void InterceptedCall::FailForMemory() {
  status = COPSE_ERR_NO_MEMORY;
  if (communicator != nullptr) communicator->failures().SetOutOfStep();
}

// Without memory there may be no Communicator, and none for the text of an error.
int InterceptedCall::Finish(MPI_Comm comm) const {
  if (status == COPSE_OK) return result;
  try {
    if (communicator != nullptr) {
      return communicator->Fail(NameOf(entry), status, error_.empty() ? copse_status_string(status) : error_.c_str());
    }
  } catch (const std::bad_alloc&) {
    PrintLine("%s: out of memory for the text of its failure", NameOf(entry));
  }
  Mpi().Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
  return MPI_ERR_NO_MEM;
}

}  // namespace copse::mpi
