// SPDX-License-Identifier: Apache-2.0
//
// Between libcopse-mpi.so and its back ends, which come from one build and one folder.
#ifndef COPSE_CLIENT_MPI_API_BACK_END_H_
#define COPSE_CLIENT_MPI_API_BACK_END_H_

#include "client/mpi/api/entries.h"
#include "client/preload/memory_hooks.h"

namespace copse::mpi {

// The intercepted functions, by number.
enum Entry : int {
#define COPSE_MPI_NUMBER(name) kEntry##name,
  COPSE_MPI_ENTRIES(COPSE_MPI_NUMBER)
#undef COPSE_MPI_NUMBER
      kEntryCount
};

using AnyFunction = void (*)();

// A function or variable of the program's own MPI; null if it has none of that name. Never one of ours.
using FindSymbol = void* (*)(const char* name);

// What a back end exports, by the name below: takes the program's MPI and fills in what each entry is from now on. It
// may call `set_memory_hooks`, then or later. Returns null, or why it cannot, as a text that stays. Called once.
using StartBackEnd = const char* (*)(FindSymbol find, AnyFunction entries[kEntryCount],
                                     preload::SetMemoryHooks set_memory_hooks);
inline constexpr char kStartBackEnd[] = "copse_mpi_start";

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_BACK_END_H_
