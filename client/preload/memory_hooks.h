// SPDX-License-Identifier: Apache-2.0
//
// The interface by which the MPI library's back end lets the preload know of pending memory (T-NBC). The preload stands
// before the functions of libc (libc_calls.h) to which such memory would be an error, since the kernel accesses it
// without a signal.
#ifndef COPSE_CLIENT_PRELOAD_MEMORY_HOOKS_H_
#define COPSE_CLIENT_PRELOAD_MEMORY_HOOKS_H_

#include <signal.h>
#include <stddef.h>

#include <atomic>
#include <cstdint>

#include "client/tnbc/pages/memory_end.h"

namespace copse::preload {

// Any thread may call the hooks, also in signal handlers and in the back end's own calls of libc: while anything is
// pending each free() calls `await`, which takes no lock where nothing has to be awaited. None is a cancellation point.
// The caller keeps errno.
struct MemoryHooks {
  // The number of pending ranges; 0: nothing to do.
  const std::atomic<uint32_t>* pending;
  // Returns when nothing in [address, address + bytes) is pending.
  void (*await)(const void* address, size_t bytes);
  // Returns when nothing at all is.
  void (*await_all)();
  // The program's sigaction() for SIGSEGV and SIGBUS, whose handlers are the back end's.
  int (*act_on_fault)(int signal, const struct sigaction* next, struct sigaction* previous);
  // The number of the program's buffers that are remapped to shared pages; 0, or null: nothing to do. Such a buffer has
  // at least so many bytes.
  const std::atomic<uint32_t>* adopted = nullptr;
  size_t adopted_bytes_min = 0;
  // Gives pages in [address, address + bytes) back to the program, before a call that treats shared memory in another
  // way, or after which they are not known any more.
  void (*release)(const void* address, size_t bytes, tnbc::MemoryEnd end) = nullptr;
  // Null: nothing to do. Called before a thread is started, by the thread that starts it.
  void (*before_thread)() = nullptr;
};

// Returns the function that the program would call by that name but for us; null if we do not stand before it. The back
// end needs it for its own calls on pending memory (mprotect, munmap) and on SIGSEGV (sigaction), which must not come
// back to its hooks. kSyscallGuard is such a name, too.
using FindLibcCall = void* (*)(const char* name);

// Where the program's system calls are stopped while memory is pending (COPSE_TNBC_SYSCALLS=strict; syscall_guard.h).
struct SyscallGuard {
  // 1: they are stopped, 0: they are not. Set by the back end before memory is pending, and cleared once none is.
  std::atomic<uint8_t>* selector;
  // Makes a system call on pending memory, which is never stopped; returns what the kernel does.
  long (*call)(long number, long, long, long, long, long, long);
  // Between them, which may be nested, this thread's are not stopped, and threads that it starts are not guarded. It is
  // cheap while nothing is pending; but then what becomes pending meanwhile stops calls, unless `always`.
  void (*leave)(bool always);
  void (*enter)();
};
// By this name FindLibcCall has a const SyscallGuard*; null where there is none.
inline constexpr char kSyscallGuard[] = "copse_preload_syscall_guard";

// FindLibcCall returns not null for this name if the lengths of free()'s chunks are known, so that `release` is called
// for them.
inline constexpr char kKnownHeap[] = "copse_preload_known_heap";

// From now on the program's calls are checked, and SIGSEGV is not blocked where the program blocks it, although the
// program sees it blocked; that holds for the calling thread and for present handlers, too. But a thread that exists
// already and blocks SIGSEGV goes on doing so. Where the environment has COPSE_TNBC on or auto the preload sees to that
// itself, before there are threads. Called with nothing pending, once but for null, which sets nothing; `*hooks` stays.
using SetMemoryHooks = FindLibcCall (*)(const MemoryHooks* hooks);

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_MEMORY_HOOKS_H_
