// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_EARLY_HOOKS_H_
#define COPSE_CLIENT_MPI_EARLY_HOOKS_H_

#include "client/mpi/memory_hooks.h"

namespace copse::mpi {

// How this back end hands its hooks to the preload. Set when the back end is started, before any of the program's
// calls.
extern SetMemoryHooks the_set_memory_hooks;

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_EARLY_HOOKS_H_
