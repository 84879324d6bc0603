// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/async/team_caller.h"

#include "client/mpi/api/wait_time.h"
#include "client/mpi/async/async_hooks.h"
#include "client/mpi/data/team_request.h"
#include "client/tnbc/pages/held_signals.h"
#include "client/tnbc/pages/late_failure.h"

namespace copse::mpi {
TeamCaller::TeamCaller(Session* session, Communicator* communicator, const char* name, const tnbc::CallSite& site)
    : communicator_(communicator), name_(name), site_(site), wait_(session) {
  communicator_->Retain();
}

TeamCaller::~TeamCaller() { communicator_->Release(); }

copse_status_t TeamCaller::Post(copse_request_t* request) {
  TeamRequest call{request, &error_};
  return wait_.Post(communicator_->team(), &call);
}

copse_status_t TeamCaller::Await(copse_request_t* request) {
  TeamRequest call{request, &error_};
  return wait_.Await(&call);
}

bool TeamCaller::Turn() {
  if (wait_.Turn()) return true;
  error_ = kTimeIsOver;
  return false;
}

void TeamCaller::OnLate(copse_status_t status, const char* why) {
  tnbc::NoteLateFailure(name_, why);
  communicator_->failures().NoteLate(status);
}

copse_status_t AgreementTeam::Make(const copse_coll_args_t& args) {
  copse_request_t* request = nullptr;
  {
    const tnbc::HeldSignals held;
    const copse_status_t status = copse_collective_init(communicator_->team(), &args, &request);
    if (status != COPSE_OK) return status;
  }
  TeamCaller caller(session_, communicator_);
  copse_status_t status = caller.Post(request);
  if (status == COPSE_OK) status = caller.Await(request);
  const tnbc::HeldSignals held;
  copse_finalize(request);
  return status;
}

const std::vector<uint32_t>* AgreementTeam::KnownOrder(uint32_t parts, uint64_t call) {
  const AsyncSettings& settings = session_->async;
  if (settings.order == FragmentOrder::kOff || !settings.profile.has_value()) return nullptr;
  const tnbc::TraceKind kind = communicator_->DescribeKind(offload_);
  return settings.profile->Find({kind.communicator, kind.collective, kind.length, parts}, call);
}

bool AgreementTeam::may_wait_idly() const {
  const int level = session_->progress.thread_level();
  return level != MPI_THREAD_MULTIPLE && (level != MPI_THREAD_SINGLE || ProgramHasThreads());
}

bool AgreementTeam::tries() const {
  return session_->async_mode == AsyncMode::kAuto && !session_->async.profile.has_value() &&
         session_->async.trace_folder.empty();
}

}  // namespace copse::mpi
