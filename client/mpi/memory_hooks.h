// SPDX-License-Identifier: Apache-2.0
//
// What a back end tells libcopse-mpi.so of memory whose data has yet to come (T-NBC). The preload stands before those
// functions of libc (libc_calls.h) to which such memory would be an error: the kernel meets it without a signal.
#ifndef COPSE_CLIENT_MPI_MEMORY_HOOKS_H_
#define COPSE_CLIENT_MPI_MEMORY_HOOKS_H_

#include <signal.h>
#include <stddef.h>

#include <atomic>
#include <cstdint>

namespace copse::mpi {

// Any thread may call them, also in signal handlers, and the back end's own calls of libc do: while anything is pending
// each free() calls `await`, which takes no lock where nothing has to be awaited. None is a cancellation point. The
// caller keeps errno.
struct MemoryHooks {
  // How many ranges are pending; 0: nothing to do.
  const std::atomic<uint32_t>* pending;
  // Returns when nothing in [address, address + bytes) is pending.
  void (*await)(const void* address, size_t bytes);
  // Returns when nothing is.
  void (*await_all)();
  // The program's sigaction() for SIGSEGV and SIGBUS, whose handlers are the back end's.
  int (*act_on_fault)(int signal, const struct sigaction* next, struct sigaction* previous);
};

// What the program would call by that name but for us; null if we are not in between. For what the back end itself does
// to pending memory (mprotect, munmap) and to SIGSEGV (sigaction), which is not to come back to its hooks.
using FindLibcCall = void* (*)(const char* name);

// From now on the program's calls are looked at, and SIGSEGV is not blocked where the program blocks it, though it is
// told so; that holds for the calling thread and for handlers as they are, too. But a thread that exists already and
// blocks SIGSEGV goes on doing so: best called before MPI starts threads, with nothing pending. Called once; `*hooks`
// stays.
using SetMemoryHooks = FindLibcCall (*)(const MemoryHooks* hooks);

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_MEMORY_HOOKS_H_
