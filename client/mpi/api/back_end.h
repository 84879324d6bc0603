// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface between libcopse-mpi.so and its back ends, which come from the same build and are installed in
// one folder.
#ifndef COPSE_CLIENT_MPI_API_BACK_END_H_
#define COPSE_CLIENT_MPI_API_BACK_END_H_

#include "client/mpi/api/entries.h"
#include "client/preload/memory_hooks.h"

namespace copse::mpi {

// An Entry is the number of an intercepted function.
enum Entry : int {
#define COPSE_MPI_NUMBER(name) kEntry##name,
  COPSE_MPI_ENTRIES(COPSE_MPI_NUMBER)
#undef COPSE_MPI_NUMBER
      kEntryCount
};

using AnyFunction = void (*)();

// Returns the function or variable `name` of the program's MPI, never one of this library; null if there is none.
using FindSymbol = void* (*)(const char* name);

// Warns, once for the job, that the program's MPI is not offloaded and why, and sends all later calls of entries past
// the back end to the MPI.
using GiveUp = void (*)(const char* why);

// A back end exports a function of this type under the name below. It finds the program's MPI by `find` and sets the
// function of each entry that the MPI has. It may call `set_memory_hooks`, also later, and `give_up` in MPI_Init.
// Returns null, or the name of a function that the MPI lacks. It is called once.
using StartBackEnd = const char* (*)(FindSymbol find, AnyFunction entries[kEntryCount],
                                     preload::SetMemoryHooks set_memory_hooks, GiveUp give_up);
inline constexpr char kStartBackEnd[] = "copse_mpi_start";

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_BACK_END_H_
