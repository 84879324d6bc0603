// SPDX-License-Identifier: Apache-2.0
//
// Makes the library's own system calls on pending memory and on futex words. While memory is pending, the program's
// system calls may be stopped (COPSE_TNBC_SYSCALLS=strict), but these are not.
#ifndef COPSE_CLIENT_TNBC_PAGES_FREE_SYSCALL_H_
#define COPSE_CLIENT_TNBC_PAGES_FREE_SYSCALL_H_

#include <errno.h>
#include <unistd.h>

#include <atomic>

namespace copse::tnbc {

// A FreeSyscall makes a system call and returns the kernel's result: a negated errno if it fails.
using FreeSyscall = long (*)(long number, long, long, long, long, long, long);

inline long SyscallByLibc(long number, long a, long b, long c, long d, long e, long f) {
  const int error = errno;
  const long result = syscall(number, a, b, c, d, e, f);
  const long returned = result == -1 ? -errno : result;
  errno = error;
  return returned;
}

// Free makes system calls by this function. It is set before memory is pending.
inline std::atomic<FreeSyscall> the_free_syscall{SyscallByLibc};

// Makes a system call of up to six arguments that is never stopped. Returns the kernel's result and keeps errno.
// Async-signal-safe.
template <typename... Arguments>
long Free(long number, Arguments... arguments) {
  const long all[6] = {(long)arguments...};  // NOLINT: values and addresses
  return the_free_syscall.load(std::memory_order_relaxed)(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_FREE_SYSCALL_H_
