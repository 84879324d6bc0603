// SPDX-License-Identifier: Apache-2.0
//
// Finds the memory that a system call accesses, by its number and arguments, for Linux on x86-64.
#ifndef COPSE_CLIENT_PRELOAD_SYSCALL_MEMORY_H_
#define COPSE_CLIENT_PRELOAD_SYSCALL_MEMORY_H_

namespace copse::preload {

// A FreeSyscall makes a system call that is not stopped, and returns the kernel's result.
using FreeSyscall = long (*)(long number, long, long, long, long, long, long);

// Waits until nothing of that memory is pending; waits for all memory if the call is not known. Lists of buffers are
// read by `call`, so that a bad address is an error of that and no fault. Async-signal-safe.
void AwaitSyscallMemory(long number, const long arguments[6], FreeSyscall call);

// Copy bytes from or to the program's memory. Return false if it is not accessible.
bool CopyIn(const void* from, void* to, unsigned long bytes, FreeSyscall call);
bool CopyOut(void* to, const void* from, unsigned long bytes, FreeSyscall call);

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_SYSCALL_MEMORY_H_
