// SPDX-License-Identifier: Apache-2.0
//
// Short calls by MPI, in programs that go on after an error.
#ifndef COPSE_CLIENT_MPI_WATCHED_CALL_H_
#define COPSE_CLIENT_MPI_WATCHED_CALL_H_

#include <string>

#include "client/copse.h"
#include "client/mpi/communicator.h"
#include "client/mpi/offload.h"
#include "client/mpi/session.h"

namespace copse::mpi {

// Whether WatchByMpi has a form for the call: the same on all ranks.
bool CanWatch(const Offload& offload);

// Makes the call by MPI's non-blocking collective, instead of Init to Unpack, and looks at the communicator's team
// meanwhile: a rank that was told that the team is broken may have gone elsewhere, and who waited for it by MPI's
// blocking collective would wait for ever. COPSE_OK: `*result` is what MPI says; else the call was given up, `*why` has
// the team's failure, and nothing writes to the program's memory any more.
copse_status_t WatchByMpi(Session* session, const Communicator& communicator, Offload* offload, int* result,
                          std::string* why);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_WATCHED_CALL_H_
