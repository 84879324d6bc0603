// SPDX-License-Identifier: Apache-2.0
//
// System calls of the library itself that are about pending memory or its words. Where the program's are stopped while
// memory is pending, these are not to be.
#ifndef COPSE_CLIENT_TNBC_PAGES_FREE_SYSCALL_H_
#define COPSE_CLIENT_TNBC_PAGES_FREE_SYSCALL_H_

#include <errno.h>
#include <unistd.h>

#include <atomic>

namespace copse::tnbc {

// Returns what the kernel does: an error is a negative number of errno's.
using FreeSyscall = long (*)(long number, long, long, long, long, long, long);

inline long SyscallByLibc(long number, long a, long b, long c, long d, long e, long f) {
  const int error = errno;
  const long result = syscall(number, a, b, c, d, e, f);
  const long returned = result == -1 ? -errno : result;
  errno = error;
  return returned;
}

// Set before memory is pending.
inline std::atomic<FreeSyscall> the_free_syscall{SyscallByLibc};

template <typename... Arguments>
long Free(long number, Arguments... arguments) {
  const long all[6] = {(long)arguments...};  // NOLINT: values and addresses
  return the_free_syscall.load(std::memory_order_relaxed)(number, all[0], all[1], all[2], all[3], all[4], all[5]);
}

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_PAGES_FREE_SYSCALL_H_
