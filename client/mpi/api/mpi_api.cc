// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/api/mpi_api.h"

#include <dlfcn.h>

namespace copse::mpi {
namespace {

MpiApi api;
FindSymbol find_symbol = nullptr;

}  // namespace

const MpiApi& Mpi() { return api; }

const char* LoadMpiApi(FindSymbol find) {
  find_symbol = find;
#define COPSE_MPI_FIND(name)                                       \
  if (void* function = find("PMPI_" #name); function != nullptr) { \
    api.name = reinterpret_cast<decltype(api.name)>(function);     \
  } else {                                                         \
    return "PMPI_" #name;                                          \
  }
  COPSE_MPI_3_ENTRIES(COPSE_MPI_FIND)
  COPSE_MPI_CALLED(COPSE_MPI_FIND)
#undef COPSE_MPI_FIND
#if MPI_VERSION >= 4
#define COPSE_MPI_FIND_NEWER(name) api.name = reinterpret_cast<decltype(api.name)>(find("PMPI_" #name));
  COPSE_MPI_4_ENTRIES(COPSE_MPI_FIND_NEWER)
#undef COPSE_MPI_FIND_NEWER
#endif
  return nullptr;
}

// The linker may have put a copy of the variable into the program (a copy relocation), which MPI then uses, too. So the
// global symbol takes precedence over the library's.
void* FindInProgramsMpi(const char* name) {
  void* variable = dlsym(RTLD_DEFAULT, name);
  return variable != nullptr ? variable : find_symbol(name);
}

}  // namespace copse::mpi
