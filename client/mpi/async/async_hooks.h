// SPDX-License-Identifier: Apache-2.0
//
// What asynchronous completion needs of the process: page protection, the preload's hooks, forks, and threads.
#ifndef COPSE_CLIENT_MPI_ASYNC_ASYNC_HOOKS_H_
#define COPSE_CLIENT_MPI_ASYNC_ASYNC_HOOKS_H_

#include "client/mpi/session/async_settings.h"
#include "client/mpi/session/complaints.h"
#include "client/preload/memory_hooks.h"
#include "client/tnbc/pages/remapped_memory.h"

namespace copse::mpi {

// How this back end hands its hooks to the preload. Set when the back end is started, before any of the program's
// calls.
void SetPreload(preload::SetMemoryHooks set_memory_hooks);

// Starts page protection, and sets the preload's hooks. Returns `wanted`; off, and why, if pages cannot be protected.
AsyncMode StartPageProtection(AsyncMode wanted, Complaints* complaints);

// How memory is protected; valid after StartPageProtection.
const AsyncMeans& TheAsyncMeans();

// Once calls may complete asynchronously. `adopted`: null if no memory is remapped. From now on forks wait for pending
// memory.
void GuardProcess(tnbc::RemappedMemory* adopted);

// Before MPI is initialized, which may start threads of its own.
void NoteThreadsBeforeInit();
// Returns whether the program has had a thread besides the one that called MPI_Init.
bool ProgramHasThreads();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_ASYNC_HOOKS_H_
