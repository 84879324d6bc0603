// SPDX-License-Identifier: Apache-2.0
//
// The buffers of the program's persistent messages, which are no arguments of MPI_Start.
#ifndef COPSE_CLIENT_MPI_ASYNC_PERSISTENT_MESSAGES_H_
#define COPSE_CLIENT_MPI_ASYNC_PERSISTENT_MESSAGES_H_

#include <cstdint>

#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

// Thread-safe, as each request is used by one thread at a time. Nothing is kept where no call completes asynchronously.

void RememberMessage(MPI_Request request, const void* buffer, int64_t count, MPI_Datatype type, MPI_Comm comm);
// Forgets a request that is freed.
void ForgetMessage(MPI_Request request);
// Waits for the buffer of a message. Returns whether its data is there; if it is lost, *comm is the message's.
bool AwaitMessageOf(MPI_Request request, MPI_Comm* comm);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_PERSISTENT_MESSAGES_H_
