// SPDX-License-Identifier: Apache-2.0
//
// Uses PMIx, of which Open MPI is a client, too; the PMIx library counts its users. The fence of MPI_Init distributes
// the values that were put before.
#include <dlfcn.h>
#include <pmix.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "client/mpi/api/launcher_notes.h"
#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {
namespace {

constexpr char kLibrary[] = "libpmix.so.2";
constexpr char kKey[] = "copse.library";

struct Pmix {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Finalize) finalize;
};
Pmix the_pmix;
pmix_proc_t the_process;
bool are_there = false;

// Returns the PMIx library if the program's Open MPI uses it, else null. With an Open MPI that contains its own PMIx,
// this library would be a second client of the same rank, which the launcher refuses.
void* OpenLibrary() {
  if (void* const loaded = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD); loaded != nullptr) return loaded;
  Dl_info mpi;
  if (dladdr(reinterpret_cast<const void*>(Mpi().Init), &mpi) == 0 || mpi.dli_fname == nullptr) return nullptr;
  const std::string path = mpi.dli_fname, folder = path.substr(0, path.rfind('/') + 1);
  for (const char* const components : {"openmpi/", "openmpi/lib/openmpi3/"}) {
    if (access((folder + components + "mca_pmix_ext3x.so").c_str(), F_OK) == 0) {
      return dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
    }
  }
  return nullptr;
}

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

void LauncherNotes::Leave() {
  if (getenv("PMIX_NAMESPACE") == nullptr) return;
  // With these settings MPI_Init may not distribute all values to all ranks.
  if (getenv("OMPI_MCA_pmix_base_async_modex") != nullptr || getenv("OMPI_MCA_pmix_base_collect_data") != nullptr)
    return;
  void* const library = OpenLibrary();
  if (library == nullptr || !Find(library, "PMIx_Init", &the_pmix.init) || !Find(library, "PMIx_Put", &the_pmix.put) ||
      !Find(library, "PMIx_Commit", &the_pmix.commit) || !Find(library, "PMIx_Get", &the_pmix.get) ||
      !Find(library, "PMIx_Finalize", &the_pmix.finalize) || the_pmix.init(&the_process, nullptr, 0) != PMIX_SUCCESS) {
    return;
  }
  pmix_value_t value;
  memset(&value, 0, sizeof(value));
  value.type = PMIX_UINT32;
  value.data.uint32 = 1;
  are_there = the_pmix.put(PMIX_GLOBAL, kKey, &value) == PMIX_SUCCESS && the_pmix.commit() == PMIX_SUCCESS;
  if (!are_there) the_pmix.finalize(nullptr, 0);
}

bool LauncherNotes::AreThere() { return are_there; }

bool LauncherNotes::IsThere(int rank) {
  pmix_proc_t process = the_process;
  process.rank = static_cast<pmix_rank_t>(rank);
  // PMIX_OPTIONAL: a missing key is an error at once, and not waited for.
  pmix_info_t only_known;
  memset(&only_known, 0, sizeof(only_known));
  strncpy(only_known.key, PMIX_OPTIONAL, sizeof(only_known.key) - 1);
  only_known.value.type = PMIX_BOOL;
  only_known.value.data.flag = true;
  pmix_value_t* value = nullptr;
  const bool is_there = the_pmix.get(&process, kKey, &only_known, 1, &value) == PMIX_SUCCESS;
  free(value);
  return is_there;
}

void LauncherNotes::End() {
  if (are_there) the_pmix.finalize(nullptr, 0);
  are_there = false;
}

}  // namespace copse::mpi
