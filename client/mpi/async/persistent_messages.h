// SPDX-License-Identifier: Apache-2.0
//
// The buffers of the program's persistent messages, which MPI_Start does not tell.
#ifndef COPSE_CLIENT_MPI_ASYNC_PERSISTENT_MESSAGES_H_
#define COPSE_CLIENT_MPI_ASYNC_PERSISTENT_MESSAGES_H_

#include <cstdint>

#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

// Thread-safe, as each request is used by one thread at a time. Nothing is kept where calls never return early.

void RememberMessage(MPI_Request request, const void* buffer, int64_t count, MPI_Datatype type, MPI_Comm comm);
// Of a request that is freed.
void ForgetMessage(MPI_Request request);
// Until nothing of its buffer is pending but what is lost. Returns whether nothing is; if not, *comm is the message's.
bool AwaitMessageOf(MPI_Request request, MPI_Comm* comm);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_PERSISTENT_MESSAGES_H_
