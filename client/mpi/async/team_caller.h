// SPDX-License-Identifier: Apache-2.0
//
// Makes asynchronous calls on a communicator's team, and the calls by which ranks agree on them.
#ifndef COPSE_CLIENT_MPI_ASYNC_TEAM_CALLER_H_
#define COPSE_CLIENT_MPI_ASYNC_TEAM_CALLER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/copse.h"
#include "client/mpi/async/progressing_wait.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/communicator.h"
#include "client/mpi/session/session.h"
#include "client/tnbc/team_calls.h"

namespace copse::mpi {

// A TeamCaller posts the fragments of one call of the program and waits for them. If they fail after the call has
// returned, it reports that to the communicator, which it keeps alive.
class TeamCaller final : public tnbc::Caller {
 public:
  // `name` and `site` are the call's name and its place in the program; a call of this library has none.
  TeamCaller(Session* session, Communicator* communicator, const char* name = nullptr, const tnbc::CallSite& site = {});
  ~TeamCaller() override;

  copse_status_t Post(copse_request_t* request) override;
  copse_status_t Await(copse_request_t* request) override;
  double slice() const override { return wait_.slice(); }
  bool Turn() override;
  void OnNotPosted(copse_status_t status) override { communicator_->failures().NoteNotPosted(status); }
  void OnEnd(const Cost& cost) override { site_.Learn(cost); }
  void OnLate(copse_status_t status, const char* why) override;

  // Returns the reason of the latest failure, in one line.
  const std::string& error() const { return error_; }

 private:
  Communicator* const communicator_;
  const char* const name_;
  const tnbc::CallSite site_;
  ProgressingWait wait_;
  std::string error_;
};

// An AgreementTeam makes the collectives by which ranks agree how calls like `offload` are fragmented.
class AgreementTeam final : public tnbc::TeamCalls::TeamOperations {
 public:
  AgreementTeam(Session* session, Communicator* communicator, const Offload& offload)
      : session_(session), communicator_(communicator), offload_(offload) {}

  copse_status_t Make(const copse_coll_args_t& args) override;
  bool FormStream() override { return communicator_->FormStream(session_); }
  // Returns the order of the profile; null if there is none.
  const std::vector<uint32_t>* KnownOrder(uint32_t parts, uint64_t call) override;
  bool may_wait_idly() const override;
  bool learns() const override { return session_->async.order != FragmentOrder::kOff; }
  // Returns whether whole calls are tried beside fragmented ones: with COPSE_TNBC=auto, but not with a profile or
  // trace.
  bool tries() const override;

 private:
  Session* const session_;
  Communicator* const communicator_;
  const Offload& offload_;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_TEAM_CALLER_H_
