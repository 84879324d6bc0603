// SPDX-License-Identifier: Apache-2.0
//
// Sets up what asynchronous completion needs in the process: page protection, the preload's hooks, and handlers for
// forks and new threads.
#ifndef COPSE_CLIENT_MPI_ASYNC_ASYNC_HOOKS_H_
#define COPSE_CLIENT_MPI_ASYNC_ASYNC_HOOKS_H_

#include "client/mpi/session/async_settings.h"
#include "client/mpi/session/complaints.h"
#include "client/preload/memory_hooks.h"
#include "client/tnbc/pages/remapped_memory.h"

namespace copse::mpi {

// Sets the preload's function for its hooks. Called once, when the back end is started, before the program's first
// call.
void SetPreload(preload::SetMemoryHooks set_memory_hooks);

// Starts page protection and sets the preload's hooks. Returns `wanted`; if pages cannot be protected, returns kOff and
// adds the reason to `*complaints`.
AsyncMode StartPageProtection(AsyncMode wanted, Complaints* complaints);

// Returns how memory is protected. Valid after StartPageProtection.
const AsyncMeans& TheAsyncMeans();

// Called once when calls may complete asynchronously: from now on forks wait for pending memory. `adopted` is null if
// no memory is remapped, and is never destroyed otherwise.
void GuardProcess(tnbc::RemappedMemory* adopted);

// Checks whether the process has several threads. Called before MPI is initialized, which may start its own.
void NoteThreadsBeforeInit();
// Returns whether the program has had a thread besides the one that called MPI_Init.
bool ProgramHasThreads();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_ASYNC_HOOKS_H_
