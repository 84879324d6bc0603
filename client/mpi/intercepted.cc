// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/intercepted.h"

#include <time.h>

namespace copse::mpi {
namespace {

constexpr const char* kEntryNames[] = {
#define COPSE_MPI_NAME(name) "MPI_" #name,
    COPSE_MPI_ENTRIES(COPSE_MPI_NAME)
#undef COPSE_MPI_NAME
};

}  // namespace

constinit thread_local int InsideMpi::depth = 0;

uint64_t NowNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void Enter(MPI_Comm comm, CallState* call) {
  if (call->session->context == nullptr) {
    call->reason = call->session->size == 1 ? Reason::kOneRank : Reason::kNoDaemons;
  } else if (comm == MPI_COMM_NULL || (call->communicator = Communicator::Of(comm)) == nullptr) {
    call->reason = Reason::kBadArguments;
  } else {
    call->reason = call->communicator->Enter(call->session);
  }
}

void RunOffload(Offload* offload, CallState* call) {
  call->status = offload->Run();
  if (call->status != COPSE_OK) call->error = offload->error();
}

int Fail(Entry entry, const CallState& call) {
  const char* text = call.error.empty() ? copse_status_string(call.status) : call.error.c_str();
  return call.communicator->Fail(kEntryNames[entry], call.status, text);
}

}  // namespace copse::mpi
