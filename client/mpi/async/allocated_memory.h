// SPDX-License-Identifier: Apache-2.0
//
// Implements MPI_Alloc_mem where calls complete asynchronously: it returns memory that the daemon can access, so that
// results need no copy.
#ifndef COPSE_CLIENT_MPI_ASYNC_ALLOCATED_MEMORY_H_
#define COPSE_CLIENT_MPI_ASYNC_ALLOCATED_MEMORY_H_

#include "client/copse.h"
#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {

// Implement the program's MPI_Alloc_mem and MPI_Free_mem. Short blocks, and those that the daemon does not register,
// are allocated by MPI. Free_mem waits for pending data in the block. Thread-safe.
int Alloc_mem(MPI_Aint bytes, MPI_Info info, void* base);
int Free_mem(void* base);

// Replaces blocks that the program has not freed by private memory with the same addresses and contents. It is called
// before the context ends, after which Free_mem still works.
void KeepAllocatedMemory(copse_context_t* context);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_ALLOCATED_MEMORY_H_
