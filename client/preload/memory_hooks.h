// SPDX-License-Identifier: Apache-2.0
//
// What the MPI library's back end tells the preload of memory whose data has yet to come (T-NBC). The preload stands
// before those functions of libc (libc_calls.h) to which such memory would be an error: the kernel meets it without a
// signal.
#ifndef COPSE_CLIENT_PRELOAD_MEMORY_HOOKS_H_
#define COPSE_CLIENT_PRELOAD_MEMORY_HOOKS_H_

#include <signal.h>
#include <stddef.h>

#include <atomic>
#include <cstdint>

#include "client/tnbc/pages/memory_end.h"

namespace copse::preload {

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
  // How many of the program's buffers are remapped to pages that it shares; 0, or null: nothing to do. Such a buffer
  // has at least so many bytes.
  const std::atomic<uint32_t>* adopted = nullptr;
  size_t adopted_bytes_min = 0;
  // Gives pages in [address, address + bytes) back to the program, before a call that treats shared memory in another
  // way, or after which they are not known any more.
  void (*release)(const void* address, size_t bytes, tnbc::MemoryEnd end) = nullptr;
  // Null: nothing to do. Called before a thread is started, by the thread that starts it.
  void (*before_thread)() = nullptr;
};

// What the program would call by that name but for us; null if we are not in between. For what the back end itself does
// to pending memory (mprotect, munmap) and to SIGSEGV (sigaction), which is not to come back to its hooks.
// kSyscallGuard is such a name, too.
using FindLibcCall = void* (*)(const char* name);

// Where the program's system calls are stopped while memory is pending (COPSE_TNBC_SYSCALLS=strict; syscall_guard.h).
struct SyscallGuard {
  // 1: they are stopped, 0: they are not. Set by the back end before memory is pending, and cleared once none is.
  std::atomic<uint8_t>* selector;
  // Makes a system call that is never stopped; returns what the kernel does. For what is done to pending memory.
  long (*call)(long number, long, long, long, long, long, long);
  // Between them, which may be nested, this thread's are not stopped, and threads that it starts are not guarded. It is
  // cheap while nothing is pending; but then what becomes pending meanwhile stops calls, unless `always`.
  void (*leave)(bool always);
  void (*enter)();
};
// By this name FindLibcCall has a const SyscallGuard*; null where there is none.
inline constexpr char kSyscallGuard[] = "copse_preload_syscall_guard";

// Not null by this name: the lengths of free()'s chunks are known, so that `release` is told of them.
inline constexpr char kKnownHeap[] = "copse_preload_known_heap";

// From now on the program's calls are looked at, and SIGSEGV is not blocked where the program blocks it, though it is
// told so; that holds for the calling thread and for handlers as they are, too. But a thread that exists already and
// blocks SIGSEGV goes on doing so. Where the environment has COPSE_TNBC on or auto the preload sees to that itself,
// before there are threads. Called with nothing pending, once but for null, which sets nothing; `*hooks` stays.
using SetMemoryHooks = FindLibcCall (*)(const MemoryHooks* hooks);

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_MEMORY_HOOKS_H_
