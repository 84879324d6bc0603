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

// Stores the function by which the preload takes memory hooks, and gets the preload's system call guard from it. It is
// called once, when the back end is started, before any MPI call of the program is executed.
void SetPreload(preload::SetMemoryHooks set_memory_hooks);

// Starts page protection. If pages cannot be protected, adds the reason to `*complaints` and returns kOff. Otherwise
// reads AsyncMeans from the environment, sets the preload's hooks, adds settings that are ignored or not supported to
// `*complaints`, and returns `wanted`. It is called at most once, after SetPreload.
AsyncMode StartPageProtection(AsyncMode wanted, Complaints* complaints);

// Returns how memory is protected. The result is valid after StartPageProtection.
const AsyncMeans& TheAsyncMeans();

// Makes forks wait for pending memory from now on. It is called once, when calls may complete asynchronously. If UCX is
// loaded, this sets a UCX event handler, which waits for pending data and ends remapping before memory is unmapped, and
// has UCX notified of remapped pages. `adopted` is null if no memory is remapped, and is never destroyed otherwise.
void GuardProcess(tnbc::RemappedMemory* adopted);

// Checks whether the process has several threads. It is called before MPI is initialized, which may start its own.
void NoteThreadsBeforeInit();
// Returns whether the program has had a thread besides the one that called MPI_Init.
bool ProgramHasThreads();

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_ASYNC_ASYNC_HOOKS_H_
