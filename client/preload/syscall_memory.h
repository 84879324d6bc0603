// SPDX-License-Identifier: Apache-2.0
//
// The memory that a system call accesses, by its number and arguments; Linux, x86-64.
#ifndef COPSE_CLIENT_PRELOAD_SYSCALL_MEMORY_H_
#define COPSE_CLIENT_PRELOAD_SYSCALL_MEMORY_H_

namespace copse::preload {

// Makes a system call that is not stopped; returns what the kernel does.
using FreeSyscall = long (*)(long number, long, long, long, long, long, long);

// Waits for the pending part of that memory, and for all memory if the call is not known. Async-signal-safe. Lists of
// buffers are read by `call`, so that the kernel refuses bad addresses.
void AwaitSyscallMemory(long number, const long arguments[6], FreeSyscall call);

// Copy from and to the program's memory. Return false where there is none.
bool CopyIn(const void* from, void* to, unsigned long bytes, FreeSyscall call);
bool CopyOut(void* to, const void* from, unsigned long bytes, FreeSyscall call);

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_SYSCALL_MEMORY_H_
