// SPDX-License-Identifier: Apache-2.0
//
// Implements libcopse-mpi.so, which LD_PRELOAD loads into every process of a job. It does nothing until a program calls
// MPI. Then it finds the MPI that the program has loaded and loads the back end for it. Functions of libc
// (libc_calls.h) are passed on until the back end sets hooks. It depends on libc only, not on a C++ runtime, MPI or
// libcopse, so that programs without MPI are not affected.
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

// trampolines.S jumps to these targets of MPI_X and PMPI_X of each entry.
extern "C" __attribute__((visibility("hidden"))) void* copse_mpi_slots[];

namespace copse::mpi {
namespace {

constexpr size_t kPathBytes = 4096;
// MPI_MAX_LIBRARY_VERSION_STRING is 8192 in MPICH and 256 in Open MPI.
constexpr size_t kVersionBytes = 16384;
// Programs without a known MPI receive this error code. MPI_ERR_OTHER is 15 in MPICH and 16 in Open MPI.
constexpr int kSomeError = 16;

constexpr const char* kNames[] = {
#define COPSE_MPI_NAME(name) "MPI_" #name, "PMPI_" #name,
    COPSE_MPI_ENTRIES(COPSE_MPI_NAME)
#undef COPSE_MPI_NAME
};
constexpr int kSlotCount = 2 * kEntryCount;

// Returns whether this rank prints warnings: rank 0, or any rank if the launcher sets no known variable.
bool IsFirstRank() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* rank = getenv(name); rank != nullptr) return strcmp(rank, "0") == 0;
  }
  return true;
}

// --- The program's MPI ---

// the_mpi is dlopen's handle of the object with the program's MPI. It is set once.
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

// An ObjectQuery asks OnObject for the path of the `index`-th loaded object. OnObject counts `index` down.
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

// Returns a handle of a loaded object if it or a library that it depends on has an MPI, else null.
void* OpenIfMpi(const char* path) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* symbol = dlsym(handle, "PMPI_Init");
  if (symbol != nullptr && !IsOurs(symbol)) return handle;
  dlclose(handle);
  return nullptr;
}

// Returns a handle of the program's MPI; null if none is loaded. If the program is linked with an MPI, it comes after
// this library in the search order. If it loads an MPI later with RTLD_LOCAL, as Python may, all loaded objects are
// searched.
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

// Returns the name by which programs are linked with the object that has the program's MPI; "none" if it has no name.
const char* SonameOfMpi() {
  Dl_info info;
  link_map* object = nullptr;
  if (dladdr1(dlsym(the_mpi, "PMPI_Init"), &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0) {
    return "none";
  }
  const char* strings = nullptr;
  const ElfW(Dyn)* name = nullptr;
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SONAME) name = entry;
  }
  return name == nullptr || strings == nullptr ? "none" : strings + name->d_un.d_val;
}

// Returns whether the MPI claims MPICH's binary interface, that of libmpi.so.12. Some have names of their own for it:
// libmpich.so.12 (Debian), libmpi_gnu_91.so.12 (Cray). The back end checks the claim once MPI has started.
bool ClaimsMpichsInterface(const char* soname) {
  constexpr char kBegin[] = "libmpi", kEnd[] = ".so.12";
  const char* end = strstr(soname, kEnd);
  return strncmp(soname, kBegin, strlen(kBegin)) == 0 && end != nullptr && strlen(end) == strlen(kEnd);
}

// Writes the first line of what the MPI says about itself.
void GetVersion(char* version) {
  snprintf(version, kVersionBytes, "unknown");
  int length = 0;
  if (auto get = reinterpret_cast<int (*)(char*, int*)>(FindInMpi("PMPI_Get_library_version")); get != nullptr) {
    get(version, &length);
    version[kVersionBytes - 1] = '\0';
  }
  if (char* end = strchr(version, '\n'); end != nullptr) *end = '\0';
}

// Returns the name of the back end; null for an unknown MPI. Open MPI's interface is known by a symbol and its version,
// MPICH's by the name of the library, as other MPIs have it, too, under versions of their own.
const char* BackEndName(const char* soname, const char* version) {
  if (FindInMpi("ompi_mpi_comm_world") != nullptr) {
    return strncmp(version, "Open MPI v", 10) == 0 ? "libcopse-mpi-openmpi.so" : nullptr;
  }
  return ClaimsMpichsInterface(soname) ? "libcopse-mpi-mpich.so" : nullptr;
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

// Prints, on one rank, why nothing is offloaded, and which MPI it is.
void Warn(const char* why) {
  static char version[kVersionBytes];
  if (!IsFirstRank()) return;
  GetVersion(version);
  PrintLine("nothing is offloaded: %s (soname=%s, version=%s)", why, SonameOfMpi(), version);
}

// A GiveUp.
void PassOver(const char* why) {
  Warn(why);
  PassEverythingThrough();
}

// Loads and starts a back end. Returns whether it has started; if not, warns.
bool StartBackEndNamed(const char* name, AnyFunction* entries) {
  static char path[kPathBytes], why[kPathBytes];
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&StartBackEndNamed), &info) == 0) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - info.dli_fname) + 1;
  snprintf(path, sizeof(path), "%.*s%s", folder, info.dli_fname, name);
  void* back_end = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  auto start = back_end == nullptr ? nullptr : reinterpret_cast<StartBackEnd>(dlsym(back_end, kStartBackEnd));
  if (start == nullptr) {
    const char* const error = dlerror();  // Warn makes calls that end the text's life
    snprintf(why, sizeof(why), "%s", error == nullptr ? path : error);
    Warn(why);
    return false;
  }
  const char* missing = start(FindInMpi, entries, preload::copse_preload_set_memory_hooks, PassOver);
  if (missing == nullptr) return true;
  snprintf(why, sizeof(why), "the MPI lacks %s, which %s needs", missing, name);
  Warn(why);
  return false;
}

void ResolveAll() {
  static char version[kVersionBytes];
  GetVersion(version);
  const char* name = BackEndName(SonameOfMpi(), version);
  if (name == nullptr) Warn("the MPI has neither MPICH's binary interface (libmpi.so.12) nor Open MPI's");
  AnyFunction entries[kEntryCount] = {};
  if (name == nullptr || !StartBackEndNamed(name, entries)) {
    PassEverythingThrough();
    return;
  }
  for (int slot = 0; slot < kSlotCount; ++slot) {
    if (entries[slot / 2] != nullptr) {
      SetSlot(slot, reinterpret_cast<void*>(entries[slot / 2]));
    } else {
      PassThrough(slot);  // the MPI may be newer than the header of its back end
    }
  }
}

}  // namespace

// trampolines.S calls it at the first call of an entry, with the entry's slot. Returns the address to jump to.
// Thread-safe.
extern "C" __attribute__((visibility("hidden"))) void* copse_mpi_resolve(void** slot);
void* copse_mpi_resolve(void** slot) {
  pthread_mutex_lock(&resolve_mutex);
  if (!resolved) {
    the_mpi = FindMpi();
    // A program may look MPI's functions up and find those of this library although no MPI is loaded. A later call may
    // find one.
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
