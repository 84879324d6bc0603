// SPDX-License-Identifier: Apache-2.0
//
// libcopse-mpi.so: what LD_PRELOAD puts into every process of a job. It does nothing until a program calls MPI. Then it
// finds the MPI that the program has loaded and the back end for it; functions of libc (libc_calls.h) pass through
// until that has a use for them. So that programs without MPI are left alone it needs libc only: no C++ runtime, no
// MPI, no libcopse.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "client/mpi/api/back_end.h"
#include "client/mpi/api/output_line.h"
#include "client/preload/libc_slots.h"

// trampolines.S: for each entry where MPI_X and PMPI_X lead.
extern "C" __attribute__((visibility("hidden"))) void* copse_mpi_slots[];

namespace copse::mpi {
namespace {

constexpr size_t kPathBytes = 4096;
// MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH and 256 in Open MPI.
constexpr size_t kVersionBytes = 16384;
// MPI_ERR_OTHER is 15 in MPICH and 16 in Open MPI; the program's is not known here.
constexpr int kSomeError = 16;

constexpr const char* kNames[] = {
#define COPSE_MPI_NAME(name) "MPI_" #name, "PMPI_" #name,
    COPSE_MPI_ENTRIES(COPSE_MPI_NAME)
#undef COPSE_MPI_NAME
};
constexpr int kSlotCount = 2 * kEntryCount;

// The first rank prints warnings, as far as launchers name it.
bool IsFirstRank() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = getenv(name); rank != nullptr) return strcmp(rank, "0") == 0;
  }
  return true;
}

// --- The program's MPI ---

// The object that has the program's MPI: a handle as of dlopen. Set once.
void* the_mpi = nullptr;

bool IsOurs(const void* address) {
  Dl_info theirs, ours;
  return dladdr(address, &theirs) != 0 && dladdr(reinterpret_cast<const void*>(&IsOurs), &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

void* FindInMpi(const char* name) {
  void* symbol = dlsym(the_mpi, name);
  return symbol == nullptr || IsOurs(symbol) ? nullptr : symbol;
}

// Copies the path of the `index`-th loaded object; counts down.
struct ObjectQuery {
  int index;
  bool found;
  char path[kPathBytes];
};
int OnObject(dl_phdr_info* info, size_t, void* argument) {
  auto* query = static_cast<ObjectQuery*>(argument);
  if (query->index-- > 0) return 0;
  query->found = true;
  snprintf(query->path, sizeof(query->path), "%s", info->dlpi_name);
  return 1;
}

// Where nothing else of the program has to be searched: an object that is loaded, if it or what it needs has an MPI.
void* OpenIfMpi(const char* path) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* symbol = dlsym(handle, "PMPI_Init");
  if (symbol != nullptr && !IsOurs(symbol)) return handle;
  dlclose(handle);
  return nullptr;
}

// A program that was linked with an MPI has it behind us in the search order. One that loads it later, as a Python
// interpreter does, may have it where only its own users see it; then all loaded objects are asked.
void* FindMpi() {
  Dl_info info;
  if (void* symbol = dlsym(RTLD_NEXT, "PMPI_Init"); symbol != nullptr && dladdr(symbol, &info) != 0) {
    if (void* handle = OpenIfMpi(info.dli_fname); handle != nullptr) return handle;
  }
  static ObjectQuery query;
  for (int index = 0;; ++index) {
    query.index = index;
    query.found = false;
    dl_iterate_phdr(OnObject, &query);
    if (!query.found) return nullptr;
    if (query.path[0] == '\0') continue;
    if (void* handle = OpenIfMpi(query.path); handle != nullptr) return handle;
  }
}

// The back end's name, or null for an MPI that we do not know, whose version is then in `version`. Symbols tell Open
// MPI's ABI; MPICH's has no variables, and others that have its ABI differ in what their handles mean inside.
const char* BackEndName(char* version) {
  snprintf(version, kVersionBytes, "unknown");
  using GetVersion = int (*)(char*, int*);
  int length = 0;
  if (auto get = reinterpret_cast<GetVersion>(FindInMpi("PMPI_Get_library_version")); get != nullptr) {
    get(version, &length);
    version[kVersionBytes - 1] = '\0';
  }
  if (strncmp(version, "Open MPI v", 10) == 0 && FindInMpi("ompi_mpi_comm_world") != nullptr) {
    return "libcopse-mpi-openmpi.so";
  }
  if (strncmp(version, "MPICH Version:", 14) == 0) return "libcopse-mpi-mpich.so";
  if (char* end = strchr(version, '\n'); end != nullptr) *end = '\0';
  return nullptr;
}

// --- The slots ---

pthread_mutex_t resolve_mutex = PTHREAD_MUTEX_INITIALIZER;
bool resolved = false;

int NoMpi() {
  PrintLine("an MPI function was called, but no MPI library is loaded");
  return kSomeError;
}
int MissingFunction() {
  PrintLine("an MPI function was called that the program's MPI library does not have");
  return kSomeError;
}

void SetSlot(int slot, void* function) { __atomic_store_n(&copse_mpi_slots[slot], function, __ATOMIC_RELEASE); }

void PassThrough(int slot) {
  void* function = FindInMpi(kNames[slot]);
  SetSlot(slot, function != nullptr ? function : reinterpret_cast<void*>(&MissingFunction));
}

void PassEverythingThrough() {
  for (int slot = 0; slot < kSlotCount; ++slot) PassThrough(slot);
}

// Null, or why there is none.
const char* StartBackEndNamed(const char* name, AnyFunction* entries) {
  static char path[kPathBytes];
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&StartBackEndNamed), &info) == 0) return "where is libcopse-mpi.so?";
  const char* slash = strrchr(info.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - info.dli_fname) + 1;
  snprintf(path, sizeof(path), "%.*s%s", folder, info.dli_fname, name);
  void* back_end = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (back_end == nullptr) return dlerror();
  auto start = reinterpret_cast<StartBackEnd>(dlsym(back_end, kStartBackEnd));
  return start == nullptr ? dlerror() : start(FindInMpi, entries, preload::copse_preload_set_memory_hooks);
}

void ResolveAll() {
  static char version[kVersionBytes];
  const char* name = BackEndName(version);
  if (name == nullptr) {
    if (IsFirstRank())
      PrintLine("the MPI is neither MPICH nor Open MPI, so nothing is offloaded (version=%s)", version);
    PassEverythingThrough();
    return;
  }
  AnyFunction entries[kEntryCount] = {};
  if (const char* error = StartBackEndNamed(name, entries); error != nullptr) {
    PrintLine("nothing is offloaded: %s (back_end=%s)", error, name);
    PassEverythingThrough();
    return;
  }
  for (int slot = 0; slot < kSlotCount; ++slot) {
    if (entries[slot / 2] != nullptr) {
      SetSlot(slot, reinterpret_cast<void*>(entries[slot / 2]));
    } else {
      PassThrough(slot);  // perhaps the MPI has what the header of its back end has not
    }
  }
}

}  // namespace

// Called by trampolines.S at the first call of an entry, with its slot. Returns what to jump to.
extern "C" __attribute__((visibility("hidden"))) void* copse_mpi_resolve(void** slot);
void* copse_mpi_resolve(void** slot) {
  pthread_mutex_lock(&resolve_mutex);
  if (!resolved) {
    the_mpi = FindMpi();
    // A program that looks for MPI's functions finds ours, even if no MPI is loaded. A later call may find one.
    if (the_mpi != nullptr) {
      ResolveAll();
      resolved = true;
    }
  }
  void* function = resolved ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : reinterpret_cast<void*>(&NoMpi);
  pthread_mutex_unlock(&resolve_mutex);
  return function;
}

}  // namespace copse::mpi
