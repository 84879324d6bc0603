// SPDX-License-Identifier: Apache-2.0
//
// Passes each intercepted collective to the communicator's team or to MPI.
#ifndef COPSE_CLIENT_MPI_INTERCEPTED_H_
#define COPSE_CLIENT_MPI_INTERCEPTED_H_

#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "client/mpi/api/back_end.h"
#include "client/mpi/api/inside_mpi.h"
#include "client/mpi/api/mpi_api.h"
#include "client/mpi/async/async_calls.h"
#include "client/mpi/async/pending_memory.h"
#include "client/mpi/async/requests.h"
#include "client/mpi/data/offload.h"
#include "client/mpi/session/communicator.h"
#include "client/mpi/session/session.h"
#include "client/mpi/session/statistics.h"

namespace copse::mpi {

// An InterceptedCall is one call of the program, with its path and its result. Calls follow Enter, (Prepare Choose?
// (Run | Start | MakePersistent)?)?, AwaitData?, Count, Finish; FailForMemory may end those before Finish. RunCall
// makes them.
class InterceptedCall {
 public:
  InterceptedCall(Session* session, Entry entry);

  // Finds the communicator, counts the call, and chooses the path as far as that does not depend on the arguments.
  void Enter(MPI_Comm comm, bool may_wait);
  bool is_offloaded() const { return reason == Reason::kNone; }
  // Describes the call to `offload`, or sets the reason why it goes to MPI.
  template <typename Call>
  void Prepare(const Call& call, Offload* offload) {
    const Reason why = call.Prepare(communicator->membership(), offload);
    if (!is_offloaded()) return;
    reason = why != Reason::kNone || communicator->MaySend(*offload) ? why : Reason::kFirstCalls;
  }
  // Returns whether reductions of a communicator without a team may be ordered reductions by MPI.
  bool combines_first_calls() const {
    const bool has_no_team = reason == Reason::kFirstCalls || reason == Reason::kNoTeam;
    return has_no_team && session->settings.chooses_path && communicator->size() > 2;
  }
  // Waits for pending memory before MPI makes the call. Returns false if data that the call needs is lost; the call has
  // failed then.
  template <typename Call>
  bool AwaitData(const Call& call) {
    if (AwaitEverythingInCall() || communicator == nullptr) return true;
    Offload offload(session->offload_options(), /*outlives_call=*/false);
    const Reason why = call.Prepare(communicator->membership(), &offload);
    if (why == Reason::kBadArguments) return true;
    if (why == Reason::kNone && AwaitBuffers(*communicator, offload)) return true;
    Lose(&offload);
    return false;
  }
  // Sends a blocking call to MPI if that is faster.
  void Choose(const Offload& offload);
  // Makes a blocking call on the team.
  void Run(Offload* offload);
  // Starts a non-blocking call and makes the program's request.
  void Start(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request);
  // Makes a persistent request. All ranks form a team for it; if that fails, MPI makes the call on all.
  void MakePersistent(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request);
  // Counts the call after it has ended. All ranks may then agree on the path of later calls, by a call of the team.
  void Count();
  // Fails the call, since there is no memory for it. Other ranks may have made it, so all later calls fail.
  void FailForMemory();
  // Returns the MPI code of the program's call on `comm`. Calls the communicator's error handler for a failure; it
  // must be called outside of InsideMpi, since a handler of the program may call MPI.
  int Finish(MPI_Comm comm) const;

  Session* const session;
  const Entry entry;
  Communicator* communicator = nullptr;
  Reason reason = Reason::kNone;
  bool is_done = false;              // the call has failed, or was made by other MPI calls; MPI must not make it
  copse_status_t status = COPSE_OK;  // result of the offload
  int result = MPI_SUCCESS;          // result of MPI
  const void* site = nullptr;        // return address of a blocking call in the program

 private:
  copse_status_t RunOnTeam(Offload* offload) const;
  void FailBefore(copse_status_t why, const char* text);
  bool TakeLateFailure();
  void Lose(Offload* offload);
  void Note(copse_status_t status, const Offload& offload);
  void Decide();

  uint64_t start_;  // ns; 0: the time is not needed
  PathChoice* choice_ = nullptr;
  uint64_t waited_ns_ = 0;  // time that the program has waited for data of earlier calls of this kind
  std::string error_;
};

// A CallMode describes the mode of a call (blocking, non-blocking, persistent) for RunCall.
struct CallMode {
  bool may_wait = false;           // the call may wait for other ranks
  bool has_part_in_first = false;  // the call may be an ordered reduction by MPI before there is a team
};

// Makes a call of the program. Calls `go(InterceptedCall*)` if the call may be offloaded, which sets `reason` if it was
// not; then `pass()`, which calls MPI, unless `is_done`. Returns the MPI code of the program's call.
template <typename Call, typename Go, typename Pass>
int RunCall(Entry entry, const Call& call, const CallMode& mode, Go go, Pass pass) {
  Session* const session = TheSession();
  if (session == nullptr || InsideMpi::IsNested()) return pass();
  InterceptedCall state(session, entry);
  {
    const InsideMpi inside;
    try {
      state.Enter(call.comm, mode.may_wait);
      if (state.is_offloaded() || (mode.has_part_in_first && state.combines_first_calls())) go(&state);
      if (!state.is_offloaded() && !state.is_done && state.AwaitData(call)) state.result = pass();
      state.Count();
    } catch (const std::bad_alloc&) {  // no other exception is thrown
      state.FailForMemory();
    }
  }
  return state.Finish(call.comm);
}

// Makes a blocking call with the arguments `call`. `site` is its return address in the program.
template <typename Call, typename Pass>
int RunBlocking(Entry entry, const Call& call, const void* site, Pass pass) {
  const auto go = [&](InterceptedCall* state) {
    state->site = site;
    Offload offload(state->session->offload_options(), /*outlives_call=*/false);
    state->Prepare(call, &offload);
    if (state->is_offloaded()) state->Choose(offload);
    if (state->is_offloaded()) {
      state->Run(&offload);
    } else if (offload.combines_in_order()) {
      state->result = offload.RunInOrderByMpi(call.comm);
      state->is_done = true;
    }
  };
  // Short reductions are ordered reductions from the first call on, so that all calls have the same order.
  constexpr bool kIsReduction = requires { call.op; };
  return RunCall(entry, call, {.may_wait = true, .has_part_in_first = kIsReduction}, go, pass);
}

// A null `request` goes to MPI, which reports the error.
template <typename Call, typename Pass>
int RunNonblocking(Entry entry, const Call& call, MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  NoteRequest();
  const auto go = [&](InterceptedCall* state) {
    const auto pending = std::make_shared<CollectiveRequest>(state->session, entry, state->communicator);
    state->Prepare(call, &pending->offload);
    if (state->is_offloaded()) state->Start(pending, request);
  };
  return RunCall(entry, call, {.may_wait = false}, go, pass);
}

// Makes a persistent request, which MPI_Start starts.
template <typename Call, typename Pass>
int RunPersistent(Entry entry, const Call& call, MPI_Request* request, Pass pass) {
  if (request == nullptr) return pass();
  NoteRequest();
  const auto go = [&](InterceptedCall* state) {
    const auto pending = std::make_shared<CollectiveRequest>(state->session, entry, state->communicator);
    state->reason = call.Prepare(state->communicator->membership(), &pending->offload);
    if (state->is_offloaded()) state->MakePersistent(pending, request);
  };
  return RunCall(entry, call, {.may_wait = true}, go, pass);
}

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_INTERCEPTED_H_
