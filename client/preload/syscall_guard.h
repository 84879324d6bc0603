// SPDX-License-Identifier: Apache-2.0
//
// Makes system calls wait for pending memory if they are not made by wrapped functions of libc
// (COPSE_TNBC_SYSCALLS=strict). While any memory is pending, the kernel stops the system calls of the program's threads
// with SIGSYS (Syscall User Dispatch); the handler waits for the memory that the call accesses, and continues the call.
// One byte in the process switches that on and off, so system calls cost little more while nothing is pending.
//
// The kernel kills a thread that it stops while SIGSYS is blocked. So the signal is never blocked (libc_signals.cc),
// and threads use an OffGuard in functions of libc that block all signals.
#ifndef COPSE_CLIENT_PRELOAD_SYSCALL_GUARD_H_
#define COPSE_CLIENT_PRELOAD_SYSCALL_GUARD_H_

#include <signal.h>

#include "client/preload/memory_hooks.h"

namespace copse::preload {

// Starts to guard the calling thread, and all threads that guarded threads start. Returns null, or the reason why that
// is impossible.
const char* StartSyscallGuard();
// Returns the interface for back ends; null unless system calls are guarded.
const SyscallGuard* TheSyscallGuard();

// Does what sigaction() does for SIGSYS, on the program's action.
int ActOnSyscallSignal(int signal, const struct sigaction* next, struct sigaction* previous);

// While an OffGuard exists, this thread's system calls are not stopped, and threads that it starts are not guarded.
class OffGuard {
 public:
  OffGuard();
  ~OffGuard();
  OffGuard(const OffGuard&) = delete;
  OffGuard& operator=(const OffGuard&) = delete;
};

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_SYSCALL_GUARD_H_
