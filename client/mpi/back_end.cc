// SPDX-License-Identifier: Apache-2.0
//
// libcopse-mpi-mpich.so and libcopse-mpi-openmpi.so: one source, compiled with the header of each.
#include "client/mpi/back_end.h"

#include "client/mpi/collectives.h"
#include "client/mpi/communicator.h"
#include "client/mpi/intercepted.h"
#include "client/mpi/mpi_api.h"
#include "client/mpi/session.h"

namespace copse::mpi {
namespace {

int Started(int result) {
  if (result != MPI_SUCCESS || TheSession() != nullptr) return result;
  const InsideMpi inside;
  StartSession();
  if (TheSession()->context != nullptr) StartCommunicators();
  return result;
}

int Init(int* argc, char*** argv) {
  if (InsideMpi::IsNested()) return Mpi().Init(argc, argv);
  const InsideMpi inside;
  return Started(Mpi().Init(argc, argv));
}

int Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (InsideMpi::IsNested()) return Mpi().Init_thread(argc, argv, required, provided);
  const InsideMpi inside;
  return Started(Mpi().Init_thread(argc, argv, required, provided));
}

int Finalize() {
  const InsideMpi inside;
  if (TheSession() != nullptr) DestroyTeams();
  EndSession();
  return Mpi().Finalize();
}

template <typename Function>
AnyFunction Any(Function* function) {
  return reinterpret_cast<AnyFunction>(function);
}

}  // namespace
}  // namespace copse::mpi

extern "C" __attribute__((visibility("default"))) const char* copse_mpi_start(
    copse::mpi::FindSymbol find, copse::mpi::AnyFunction entries[copse::mpi::kEntryCount]) {
  using namespace copse::mpi;  // NOLINT: the entries' names
  if (const char* missing = LoadMpiApi(find); missing != nullptr) return missing;
#define COPSE_MPI_ENTRY(name) entries[kEntry##name] = Any(&name);
  COPSE_MPI_ENTRIES(COPSE_MPI_ENTRY)
#undef COPSE_MPI_ENTRY
  return nullptr;
}
