// SPDX-License-Identifier: Apache-2.0
//
// Gives a back end the functions of the program's MPI. A back end is compiled with an MPI's header but not linked with
// an MPI library, so it also works with an MPI that was loaded with RTLD_LOCAL. Functions are called as
// Mpi().Barrier(comm). They are found by their PMPI names, so that profiling tools see each call of the program once.
#ifndef COPSE_CLIENT_MPI_API_MPI_API_H_
#define COPSE_CLIENT_MPI_API_MPI_API_H_

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>

#include "client/mpi/api/back_end.h"

#ifdef OPEN_MPI
// Open MPI's handles are addresses of its variables, which have to be found at run time, too.
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global)                               \
  ([] {                                                                    \
    static void* const address = ::copse::mpi::FindInProgramsMpi(#global); \
    return static_cast<type>(address);                                     \
  }())
#endif

namespace copse::mpi {

// These are the entries that this MPI's header declares.
#if MPI_VERSION >= 4
#define COPSE_MPI_HEADERS_ENTRIES(ENTRY) COPSE_MPI_ENTRIES(ENTRY)
#else
#define COPSE_MPI_HEADERS_ENTRIES(ENTRY) COPSE_MPI_3_ENTRIES(ENTRY)
#endif

// These are the other functions that a back end calls.
#define COPSE_MPI_CALLED(CALLED)     \
  CALLED(Abort)                      \
  CALLED(Add_error_code)             \
  CALLED(Add_error_string)           \
  CALLED(Comm_call_errhandler)       \
  CALLED(Comm_create_keyval)         \
  CALLED(Comm_get_attr)              \
  CALLED(Comm_get_errhandler)        \
  CALLED(Comm_get_parent)            \
  CALLED(Comm_group)                 \
  CALLED(Comm_rank)                  \
  CALLED(Comm_set_errhandler)        \
  CALLED(Comm_set_attr)              \
  CALLED(Comm_size)                  \
  CALLED(Comm_test_inter)            \
  CALLED(Errhandler_free)            \
  CALLED(File_call_errhandler)       \
  CALLED(Group_free)                 \
  CALLED(Group_translate_ranks)      \
  CALLED(Info_create)                \
  CALLED(Info_free)                  \
  CALLED(Query_thread)               \
  CALLED(Status_c2f)                 \
  CALLED(Type_commit)                \
  CALLED(Type_create_hindexed_block) \
  CALLED(Type_create_keyval)         \
  CALLED(Type_dup)                   \
  CALLED(Type_free)                  \
  CALLED(Type_get_attr)              \
  CALLED(Type_get_contents)          \
  CALLED(Type_get_envelope)          \
  CALLED(Type_get_extent)            \
  CALLED(Type_get_true_extent)       \
  CALLED(Type_set_attr)              \
  CALLED(Type_size)                  \
  CALLED(Type_size_x)                \
  CALLED(Win_call_errhandler)

// An MpiApi holds the addresses of the program's MPI functions. Those of MPI-4 are null if the MPI is older than the
// header: several share the binary interface of MPI-3.
struct MpiApi {
#define COPSE_MPI_POINTER(name) decltype(&PMPI_##name) name;
  COPSE_MPI_HEADERS_ENTRIES(COPSE_MPI_POINTER)
  COPSE_MPI_CALLED(COPSE_MPI_POINTER)
#undef COPSE_MPI_POINTER
};

// Returns a handle as a number, for maps. Handles are numbers in MPICH and addresses in Open MPI.
template <typename Handle>
uintptr_t Key(Handle handle) {
  return (uintptr_t)(handle);  // NOLINT: one cast for both
}

// Returns the program's MPI. The result is valid after LoadMpiApi has returned null.
const MpiApi& Mpi();

// Finds all functions. Returns null, or the name of one of MPI-3 that is missing. It is called once, before other
// threads use Mpi().
const char* LoadMpiApi(FindSymbol find);

// Returns the address of a variable of the program's MPI; null if there is none, since an MPI may lack Fortran's types.
void* FindInProgramsMpi(const char* name);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_API_MPI_API_H_
