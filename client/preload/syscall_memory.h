// SPDX-License-Identifier: Apache-2.0
//
// Which memory a system call is about, by its number and arguments; Linux, x86-64.
#ifndef COPSE_CLIENT_PRELOAD_SYSCALL_MEMORY_H_
#define COPSE_CLIENT_PRELOAD_SYSCALL_MEMORY_H_

namespace copse::preload {

// Makes a system call that is not stopped; returns what the kernel does.
using FreeSyscall = long (*)(long number, long, long, long, long, long, long);

// Waits for what is pending of it; of calls that are not known, for everything. In signal handlers, too. What leads to
// the memory, such as a list of buffers, is read by `call`, so that bad addresses are the kernel's to refuse.
void AwaitSyscallMemory(long number, const long arguments[6], FreeSyscall call);

// Copies from and to the program's memory. False where there is none.
bool CopyIn(const void* from, void* to, unsigned long bytes, FreeSyscall call);
bool CopyOut(void* to, const void* from, unsigned long bytes, FreeSyscall call);

}  // namespace copse::preload

#endif  // COPSE_CLIENT_PRELOAD_SYSCALL_MEMORY_H_
