// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/completions.h"

#include <sched.h>

#include <memory>
#include <string>
#include <vector>

#include "client/mpi/api/failure_text.h"
#include "client/mpi/api/inside_mpi.h"
#include "client/mpi/api/output_line.h"
#include "client/mpi/api/wait_time.h"
#include "client/mpi/async/async_calls.h"
#include "client/mpi/async/pending_memory.h"
#include "client/mpi/async/persistent_messages.h"
#include "client/mpi/async/requests.h"
#include "client/mpi/session/session.h"

namespace copse::mpi {
namespace {

// A rank polls for this time before it blocks.
constexpr double kSpinSeconds = 50e-6;

// Returns the Requests if a completing call may have to handle requests of this library; null if all are MPI's.
Requests* PossiblyOurs() {
  if (InsideMpi::IsNested()) return nullptr;
  Requests* const requests = TheRequests();
  return requests != nullptr && requests->HasAny() ? requests : nullptr;
}

// Calls a function of MPI with the program's arguments.
template <typename Function, typename... Arguments>
int PassOn(Function* function, Arguments... arguments) {
  const CallingMpi calling;
  return function(arguments...);
}

// A CompletingCall is one call that completes requests. It keeps a copy of the handles, which MPI overwrites when they
// are complete.
class CompletingCall {
 public:
  CompletingCall(Requests* ours, int count, const MPI_Request* requests)
      : ours_(ours), requests_(requests, requests + (count > 0 && requests != nullptr ? count : 0)) {}

  // Calls `test(&done)`, which calls MPI, until it sets `done` or fails. Returns its last result.
  template <typename Test>
  int Await(Test test) {
    for (;;) {
      int done = 0;
      const int result = Once(test, &done);
      if (result != MPI_SUCCESS || done != 0) return result;
      Pause();
    }
  }
  template <typename Test>
  int Once(Test test, int* done) {
    const InsideMpi inside;
    ours_->Poll();
    return test(done);
  }

  // Reports failures of Copse's calls and returns the code of the program's call. `result` is MPI's code, `index(i)`
  // the place of the i-th of `count` complete requests, statuses[i] its status. If `together`, the statuses have the
  // error codes, and the call returns MPI_ERR_IN_STATUS.
  template <typename Index>
  int Finish(int result, int count, Index index, MPI_Status* statuses, bool together) {
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) return result;
    std::shared_ptr<CollectiveRequest> first;
    copse_status_t first_status = COPSE_OK;
    const bool wants_statuses = together && statuses != MPI_STATUSES_IGNORE;
    for (int i = 0; i < count; ++i) {
      copse_status_t status = COPSE_OK;
      const auto call = ours_->TakeFailure(requests_[index(i)], &status);
      if (call == nullptr) continue;
      if (first == nullptr && wants_statuses && result == MPI_SUCCESS) {
        for (int j = 0; j < count; ++j) statuses[j].MPI_ERROR = MPI_SUCCESS;
      }
      if (wants_statuses) statuses[i].MPI_ERROR = ErrorClassOf(status);
      if (first == nullptr) first = call, first_status = status;
    }
    if (first == nullptr) return result;
    const std::string& error = first->offload.error();
    const char* text = error.empty() ? copse_status_string(first_status) : error.c_str();
    const int code = first->communicator->Fail(NameOf(first->entry), first_status, text);
    return together ? MPI_ERR_IN_STATUS : code;
  }

 private:
  // Waits before the next test. Blocks if only requests of this library are incomplete; requests of MPI complete only
  // by polling.
  void Pause() {
    if (NowSeconds() - since_ < kSpinSeconds) {
      sched_yield();
      return;
    }
    const InsideMpi inside;
    std::shared_ptr<CollectiveRequest> sleeper;
    for (const MPI_Request request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      const auto call = ours_->Find(request);
      int complete = 1;
      if (call == nullptr) Mpi().Request_get_status(request, &complete, MPI_STATUS_IGNORE);
      if (complete == 0) {
        sched_yield();
        return;
      }
      if (call != nullptr && sleeper == nullptr && ours_->IsActive(*call)) sleeper = call;
    }
    if (sleeper == nullptr) return;
    Session* const session = TheSession();
    ours_->Await(sleeper, session->progress.slice());
    session->progress.TurnMpi();
  }

  Requests* const ours_;
  const std::vector<MPI_Request> requests_;
  const double since_ = NowSeconds();
};

constexpr auto kSame = [](int i) { return i; };

// Reports that `function` is not allowed on a request of this library. Returns MPI_ERR_REQUEST if the handler returns.
int Refuse(const char* function, const CollectiveRequest& call, const char* why) {
  return call.communicator->Refuse(function, MPI_ERR_REQUEST, why);
}

// Reports an error if data of earlier calls is lost and this request sends some of it or receives over it.
int FailIfLost(Requests* ours, MPI_Request request) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (!AwaitMessageOf(request, &comm)) {
    PrintLine("MPI_Start: %s", kLostData);
    Mpi().Comm_call_errhandler(comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
  }
  const auto call = ours == nullptr ? nullptr : ours->Find(request);
  if (call == nullptr || AwaitBuffers(*call->communicator, call->offload)) return MPI_SUCCESS;
  call->communicator->failures().SetOutOfStep();
  return call->communicator->Fail("MPI_Start", COPSE_ERR_CANCELED, kLostData);
}

}  // namespace

int Wait(MPI_Request* request, MPI_Status* status) {
  Requests* const ours = PossiblyOurs();
  if (ours == nullptr) return PassOn(Mpi().Wait, request, status);
  CompletingCall call(ours, 1, request);
  const int result = call.Await([&](int* done) { return Mpi().Test(request, done, status); });
  return call.Finish(result, 1, kSame, MPI_STATUSES_IGNORE, false);
}

int Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  Requests* const ours = PossiblyOurs();
  if (ours == nullptr) return PassOn(Mpi().Waitall, count, requests, statuses);
  CompletingCall call(ours, count, requests);
  const int result = call.Await([&](int* done) { return Mpi().Testall(count, requests, done, statuses); });
  return call.Finish(result, count, kSame, statuses, true);
}

int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  Requests* const ours = PossiblyOurs();
  if (ours == nullptr) return PassOn(Mpi().Waitany, count, requests, index, status);
  CompletingCall call(ours, count, requests);
  const int result = call.Await([&](int* done) { return Mpi().Testany(count, requests, index, done, status); });
  return call.Finish(
      result, *index != MPI_UNDEFINED, [&](int) { return *index; }, MPI_STATUSES_IGNORE, false);
}

int Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  Requests* const ours = PossiblyOurs();
  if (ours == nullptr) return PassOn(Mpi().Waitsome, count, requests, done, indices, statuses);
  CompletingCall call(ours, count, requests);
  const int result = call.Await([&](int* some) {
    const int code = Mpi().Testsome(count, requests, done, indices, statuses);
    *some = *done;
    return code;
  });
  return call.Finish(
      result, *done, [&](int i) { return indices[i]; }, statuses, true);
}

int Test(MPI_Request* request, int* done, MPI_Status* status) {
  Requests* const ours = PossiblyOurs();
  if (ours == nullptr) return PassOn(Mpi().Test, request, done, status);
  CompletingCall call(ours, 1, request);
  const int result = call.Once([&](int* flag) { return Mpi().Test(request, flag, status); }, done);
  return call.Finish(result, *done != 0, kSame, MPI_STATUSES_IGNORE, false);
}

int Testall(int count, MPI_Request requests[], int* done, MPI_Status statuses[]) {
  Requests* const ours = PossiblyOurs();
  if (ours == nullptr) return PassOn(Mpi().Testall, count, requests, done, statuses);
  CompletingCall call(ours, count, requests);
  const int result = call.Once([&](int* flag) { return Mpi().Testall(count, requests, flag, statuses); }, done);
  return call.Finish(result, *done != 0 ? count : 0, kSame, statuses, true);
}

int Testany(int count, MPI_Request requests[], int* index, int* done, MPI_Status* status) {
  Requests* const ours = PossiblyOurs();
  if (ours == nullptr) return PassOn(Mpi().Testany, count, requests, index, done, status);
  CompletingCall call(ours, count, requests);
  const int result = call.Once([&](int* flag) { return Mpi().Testany(count, requests, index, flag, status); }, done);
  return call.Finish(
      result, *done != 0 && *index != MPI_UNDEFINED, [&](int) { return *index; }, MPI_STATUSES_IGNORE, false);
}

int Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  Requests* const ours = PossiblyOurs();
  if (ours == nullptr) return PassOn(Mpi().Testsome, count, requests, done, indices, statuses);
  CompletingCall call(ours, count, requests);
  const int result =
      call.Once([&](int* some) { return Mpi().Testsome(count, requests, some, indices, statuses); }, done);
  return call.Finish(
      result, *done, [&](int i) { return indices[i]; }, statuses, true);
}

int Request_get_status(MPI_Request request, int* done, MPI_Status* status) {
  Requests* const ours = PossiblyOurs();
  if (ours == nullptr) return PassOn(Mpi().Request_get_status, request, done, status);
  const InsideMpi inside;
  ours->Poll();
  return Mpi().Request_get_status(request, done, status);
}

int Request_free(MPI_Request* request) {
  Requests* const ours = InsideMpi::IsNested() || request == nullptr ? nullptr : TheRequests();
  const auto call = ours == nullptr ? nullptr : ours->Find(*request);
  if (call == nullptr) {
    if (request != nullptr) ForgetMessage(*request);
    return PassOn(Mpi().Request_free, request);
  }
  if (ours->IsActive(*call)) return Refuse("MPI_Request_free", *call, "a collective that is not complete");
  ours->Forget(*request);
  const InsideMpi inside;
  return PassOn(Mpi().Request_free, request);
}

int Cancel(MPI_Request* request) {
  Requests* const ours = request == nullptr ? nullptr : PossiblyOurs();
  const auto call = ours == nullptr ? nullptr : ours->Find(*request);
  if (call == nullptr) return PassOn(Mpi().Cancel, request);
  return Refuse("MPI_Cancel", *call, "a collective cannot be canceled");
}

int Start(MPI_Request* request) { return Startall(1, request); }

// For MPI, a persistent request of this library is a persistent receive, so MPI starts it and Restart posts the call.
int Startall(int count, MPI_Request requests[]) {
  Requests* const ours = InsideMpi::IsNested() ? nullptr : TheRequests();
  if (AnyPending() && !AwaitEverything()) {
    for (int i = 0; i < count; ++i) {
      if (const int error = FailIfLost(ours, requests[i]); error != MPI_SUCCESS) return error;
    }
  }
  NoteRequest();  // the functions that made these requests may not be intercepted
  const int result = PassOn(Mpi().Startall, count, requests);
  if (ours == nullptr || result != MPI_SUCCESS) return result;
  const InsideMpi inside;
  for (int i = 0; i < count; ++i) ours->Restart(requests[i]);
  return result;
}

}  // namespace copse::mpi
