// SPDX-License-Identifier: Apache-2.0
//
// Records the buffers of the program's persistent point-to-point requests, since MPI_Start has no buffer arguments.
#ifndef COPSE_CLIENT_MPI_ASYNC_PERSISTENT_MESSAGES_H_
#define COPSE_CLIENT_MPI_ASYNC_PERSISTENT_MESSAGES_H_

#include <cstdint>

#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

// Records the buffer of a request. Does nothing where no call completes asynchronously. All three functions are
// thread-safe, as each request is used by one thread at a time.

void RememberMessage(MPI_Request request, const void* buffer, int64_t count, MPI_Datatype type, MPI_Comm comm);
// Drops the record of a request that the program frees.
void ForgetMessage(MPI_Request request);
// Waits for the buffer of a request. Returns false if its data is lost; sets *comm to the request's communicator.
// Returns true for a request that was not recorded.
bool AwaitMessageOf(MPI_Request request, MPI_Comm* comm);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_PERSISTENT_MESSAGES_H_
