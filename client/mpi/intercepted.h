// SPDX-License-Identifier: Apache-2.0
//
// How every intercepted collective goes: to the communicator's team, or on to MPI.
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

// A call on its way: its path, and its result.
class InterceptedCall {
 public:
  InterceptedCall(Session* session, Entry entry);

  // Finds the communicator, counts the call, and decides as far as arguments have no part in it.
  void Enter(MPI_Comm comm, bool may_wait);
  bool is_offloaded() const { return reason == Reason::kNone; }
  // Describes the call, or says why it goes to MPI.
  template <typename Call>
  void Prepare(const Call& call, Offload* offload) {
    const Reason why = call.Prepare(communicator->membership(), offload);
    if (!is_offloaded()) return;
    reason = why != Reason::kNone || communicator->MaySend(*offload) ? why : Reason::kFirstCalls;
  }
  // Returns whether the calls of a communicator that has no team yet are combined in order.
  bool combines_first_calls() const {
    const bool has_no_team = reason == Reason::kFirstCalls || reason == Reason::kNoTeam;
    return has_no_team && session->settings.chooses_path && communicator->size() > 2;
  }
  // Before MPI makes the call instead: waits for pending memory. False if data that it needs is lost: it has failed.
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
  // Runs an offload to its end.
  void Run(Offload* offload);
  // Starts one that goes on.
  void Start(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request);
  // Makes one that is to be started later. The ranks agree whether it can be.
  void MakePersistent(const std::shared_ptr<CollectiveRequest>& call, MPI_Request* request);
  // Once the call is over. All ranks may have to decide on the calls to come.
  void Count();
  // What the program's call returns; lets the communicator's error handler know of failures. It is the program's, which
  // may go on with MPI from there.
  int Finish() const;

  Session* const session;
  const Entry entry;
  Communicator* communicator = nullptr;
  Reason reason = Reason::kNone;
  bool is_done = false;              // by MPI, with other calls than the program's
  copse_status_t status = COPSE_OK;  // of the offload
  int result = MPI_SUCCESS;          // of MPI
  const void* site = nullptr;        // in the program, of a blocking call

 private:
  copse_status_t RunOnTeam(Offload* offload) const;
  void FailBefore(copse_status_t why, const char* text);
  bool TakeLateFailure();
  void Lose(Offload* offload);
  void Note(copse_status_t status, const Offload& offload);
  void Decide();

  uint64_t start_;  // ns; 0: the time is not needed
  PathChoice* choice_ = nullptr;
  uint64_t waited_ns_ = 0;  // for what earlier calls of its kind have left to wait for
  std::string error_;
};

// What distinguishes the modes for RunCall.
struct CallMode {
  bool may_wait = false;           // for other ranks
  bool has_part_in_first = false;  // calls before there is a team are not just passed on
};

// `go(InterceptedCall*)` is called if the call may be offloaded, and says by the state's reason whether it was;
// `pass()` calls MPI, unless that is done. Returns what the program's call returns.
template <typename Call, typename Go, typename Pass>
int RunCall(Entry entry, const Call& call, const CallMode& mode, Go go, Pass pass) {
  Session* const session = TheSession();
  if (session == nullptr || InsideMpi::IsNested()) return pass();
  InterceptedCall state(session, entry);
  {
    const InsideMpi inside;
    state.Enter(call.comm, mode.may_wait);
    try {
      if (state.is_offloaded() || (mode.has_part_in_first && state.combines_first_calls())) go(&state);
    } catch (const std::bad_alloc&) {  // nothing else fails so
      state.status = COPSE_ERR_NO_MEMORY;
    }
    if (!state.is_offloaded() && !state.is_done && state.AwaitData(call)) state.result = pass();
    state.Count();
  }
  return state.Finish();
}

// The modes of a call, whose arguments `call` has.

// `site`: where the program makes it.
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
  // Short reductions are combined in the same order from the first one.
  constexpr bool kIsReduction = requires { call.op; };
  return RunCall(entry, call, {.may_wait = true, .has_part_in_first = kIsReduction}, go, pass);
}

// A null `request` is for MPI to refuse.
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

// Makes a request, which MPI_Start starts.
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
