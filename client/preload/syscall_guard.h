// SPDX-License-Identifier: Apache-2.0
//
// System calls that are not made by libc's functions, or by functions of libc that are not wrapped, and pending memory
// (COPSE_TNBC_SYSCALLS=strict). While any memory is pending the kernel stops the system calls of the program's threads
// with SIGSYS (Syscall User Dispatch); the handler waits for the memory that the call is about, and lets it go on. One
// byte of the process switches that on and off, so that calls cost little more than ever while nothing is pending.
//
// A thread that has SIGSYS blocked when it is stopped is killed by the kernel. So the signal is never blocked
// (libc_signals.cc), and threads leave while they are in functions of libc that block all signals by themselves.
#ifndef COPSE_CLIENT_PRELOAD_SYSCALL_GUARD_H_
#define COPSE_CLIENT_PRELOAD_SYSCALL_GUARD_H_

#include <signal.h>

#include "client/preload/memory_hooks.h"

namespace copse::preload {

// Starts guarding the calling thread, and the threads that guarded threads start. Returns null, or why it cannot.
const char* StartSyscallGuard();
// Returns the interface for back ends; null unless it is started.
const SyscallGuard* TheSyscallGuard();

// The program's sigaction() for SIGSYS.
int ActOnSyscallSignal(int signal, const struct sigaction* next, struct sigaction* previous);

// While one exists, this thread's system calls are not stopped.
class OffGuard {
 public:
  OffGuard();
  ~OffGuard();
  OffGuard(const OffGuard&) = delete;
  OffGuard& operator=(const OffGuard&) = delete;
};

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_SYSCALL_GUARD_H_
