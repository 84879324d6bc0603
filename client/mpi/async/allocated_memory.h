// SPDX-License-Identifier: Apache-2.0
//
// MPI_Alloc_mem where calls complete asynchronously: memory that the daemon reaches, so that results need no copy.
#ifndef COPSE_CLIENT_MPI_ASYNC_ALLOCATED_MEMORY_H_
#define COPSE_CLIENT_MPI_ASYNC_ALLOCATED_MEMORY_H_

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

// Thread-safe. Short blocks, and blocks that the daemon has no room for, are the MPI's.
int Alloc_mem(MPI_Aint bytes, MPI_Info info, void* base);
int Free_mem(void* base);

// Before the context's end: what the program has not freed stays where it is, with its contents.
void KeepAllocatedMemory(copse_context_t* context);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_ALLOCATED_MEMORY_H_
