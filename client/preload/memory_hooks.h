// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface by which the MPI library's back end informs the preload of pending memory (T-NBC). The preload
// wraps the functions of libc (libc_calls.h) that would fail on such memory, since the kernel accesses it without a
// signal.
#ifndef COPSE_CLIENT_PRELOAD_MEMORY_HOOKS_H_
#define COPSE_CLIENT_PRELOAD_MEMORY_HOOKS_H_

#include <signal.h>
#include <stddef.h>

#include <atomic>
#include <cstdint>

#include "client/tnbc/pages/memory_end.h"

namespace copse::preload {

// MemoryHooks are the functions and counters of the back end. Any thread may call the hooks, also in signal handlers
// and in the back end's own calls of libc: while anything is pending each free() calls `await`, which takes no lock if
// it need not wait. None is a cancellation point. The caller keeps errno.
struct MemoryHooks {
  // It counts the pending ranges. 0: nothing to do.
  const std::atomic<uint32_t>* pending;
  // Returns when nothing in [address, address + bytes) is pending. Lost data, which never arrives, ends the job.
  void (*await)(const void* address, size_t bytes);
  // Returns when no memory is pending, except lost memory.
  void (*await_all)();
  // Does what sigaction() does for SIGSEGV and SIGBUS, whose handlers are the back end's, on the program's actions.
  int (*act_on_fault)(int signal, const struct sigaction* next, struct sigaction* previous);
  // It counts the program's buffers that are remapped to shared pages. 0, or null: nothing to do. Each of them has at
  // least adopted_bytes_min bytes.
  const std::atomic<uint32_t>* adopted = nullptr;
  size_t adopted_bytes_min = 0;
  // Gives the program ordinary pages again in [address, address + bytes). The preload calls it before a call that
  // treats shared memory differently, or that frees, moves or unmaps the memory.
  void (*release)(const void* address, size_t bytes, tnbc::MemoryEnd end) = nullptr;
  // A thread that is about to start another one calls it. Null: nothing to do.
  void (*before_thread)() = nullptr;
};

// A FindLibcCall returns the function that the program would call by that name without the preload; null if the preload
// does not wrap it. The back end needs this for its own calls on pending memory (mprotect, munmap) and on SIGSEGV
// (sigaction), which must not call its hooks. kSyscallGuard and kKnownHeap are also such names.
using FindLibcCall = void* (*)(const char* name);

// A SyscallGuard is the back end's interface to the guard that stops the program's system calls while memory is pending
// (COPSE_TNBC_SYSCALLS=strict; syscall_guard.h).
struct SyscallGuard {
  // 1: system calls are stopped; 0: they are not. The back end sets it before memory is pending, and clears it when
  // none is.
  std::atomic<uint8_t>* selector;
  // Makes a system call that is never stopped, also on pending memory. Returns the kernel's result.
  long (*call)(long number, long, long, long, long, long, long);
  // Between `leave` and `enter`, which may be nested, this thread's system calls are not stopped, and threads that it
  // starts are not guarded. `leave` is cheap while nothing is pending; but then memory that becomes pending before
  // `enter` stops calls, unless `always` is set.
  void (*leave)(bool always);
  void (*enter)();
};
// A FindLibcCall returns a const SyscallGuard* for this name, or null if system calls are not stopped.
inline constexpr char kSyscallGuard[] = "copse_preload_syscall_guard";

// A FindLibcCall returns non-null for this name if the lengths of the heap's chunks are known, so that free() calls
// `release`.
inline constexpr char kKnownHeap[] = "copse_preload_known_heap";

// Sets the hooks. From then on the program's calls are checked, and SIGSEGV is not blocked where the program blocks it,
// although the program sees it blocked. This includes the calling thread and present handlers, but not other threads
// that have blocked SIGSEGV already. If COPSE_TNBC is on or auto in the environment, the preload does all this at its
// start, before there are threads. A back end calls it once, while nothing is pending, with hooks that are never freed.
// Null sets nothing and only returns the FindLibcCall.
using SetMemoryHooks = FindLibcCall (*)(const MemoryHooks* hooks);

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_MEMORY_HOOKS_H_
